import ArgumentParser
import Foundation

extension Bench {
  /// Prints the size table.
  ///
  /// - Throws: `ExitCode.failure` when a cost grows beyond its limit.
  func printSizeTable(at place: URL) throws {
    let operations = SizedOperation.all.filter { filter == nil || $0.name.contains(filter ?? "") }
    guard !operations.isEmpty else {
      throw ValidationError("No operation has a name that contains '\(filter ?? "")'.")
    }
    let server = try postgres.map { try PostgreSQLServer(url: $0) }
    let stores = try SizeStores(store, scratch: try Scratch(in: place), server: server)
    let bench = SizeBench(stores: stores, sizes: SizeBench.sizes(upTo: largest), rounds: rounds) { operation, size in
      FileHandle.standardError.write(Data("\(operation.name): \(size)\n".utf8))
    }
    let table = try bench.run(operations)
    let machine = Machine.current
    if json {
      print(try table.json())
    } else {
      print("\(machine.processor), \(machine.cores) cores, \(machine.memory >> 30) GB, \(machine.system)")
      if !machine.isOptimized { print("NOT OPTIMIZED: build with -c release for figures that mean something.") }
      print(table.text())
    }
    if table.hasGrowth { throw ExitCode.failure }
  }
}
