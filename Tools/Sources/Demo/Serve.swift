import ArgumentParser
import DemoService
import Foundation

/// Runs the web service alone, until it is interrupted.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Run the web service alone, until it is interrupted.")

  @OptionGroup var source: CatalogOptions

  @Option(help: "The port on the loopback interface; 0 for any that is free.")
  var port: UInt16 = 0

  func run() async throws {
    let catalog = try source.catalog()
    let service = CatalogService(catalog: catalog, port: port)
    let url = try await service.start()
    let line = "Serving \(catalog.packages.count) packages at \(url.absoluteString) (stop with Control-C)\n"
    // If the output is a pipe, `print` would buffer the line. The process at the other end waits for this line.
    FileHandle.standardOutput.write(Data(line.utf8))
    try await service.waitUntilStopped()
  }
}
