import Coherence
import Foundation

/// Synchronizes a file with a service that fails from time to time. The run is cancelled in the middle and resumed by
/// two processes at once. Each step prints the content of the file. Lines that begin with a space are figures.
///
/// `coherence-sync [number of songs]`; with three arguments, one of the two processes: `client service directory`.
@main struct Sync {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.count == 3, let service = URL(string: arguments[1]) {
      let directory = URL(fileURLWithPath: arguments[2], isDirectory: true)
      let client = try await SyncClient(name: arguments[0], service: service, directory: directory)
      try await client.resume()
      return try await client.connect.stop()
    }
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("sync-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let catalogue = Catalogue(songCount: arguments.first.flatMap { Int($0) } ?? 10_000)
    try await Sync(catalogue: catalogue, service: try SyncService(catalogue), directory: directory).run()
  }

  let catalogue: Catalogue
  let service: SyncService
  let directory: URL

  private func run() async throws {
    try await cancelInTheMiddle()
    try await resumeInTwoProcesses()
    let client = try await makeClient("whole")
    print("resumed: \(try await client.compare(with: catalogue))")
    try await replace("again", client)
    print("afterwards: \(try await client.compare(with: catalogue))")
    let removed = catalogue.songCount / 100
    service.removeSongs(from: catalogue.songCount - removed + 1)
    var smaller = catalogue
    smaller.songCount -= removed
    try await replace("removed at the service", client)
    print("afterwards: \(try await client.compare(with: smaller))")
    try await client.connect.stop()
  }

  private func makeClient(_ name: String) async throws -> SyncClient {
    try await SyncClient(name: name, service: service.url, directory: directory)
  }

  /// The first client writes a draft, and is cancelled while it waits for a page.
  private func cancelInTheMiddle() async throws {
    let client = try await makeClient("first")
    try await client.writeDraft()
    let task = Task {
      defer { service.endHold() }
      try await client.resume()
    }
    await service.holding(pageFrom: catalogue.songCount / 2) { task.cancel() }
    let result = await task.result
    let isCanceled =
      switch result {
      case .success: false
      case .failure(let error): error is CancellationError || ErrorCode.cancelled ~= error
      }
    let (count, cursor) = (try await client.count(), try await client.cursor())
    try await client.connect.stop()
    print("canceled: \(isCanceled), in the middle: \(count > 1 && count <= catalogue.songCount && cursor != nil)")
    print("  \(count) songs until then, \(service.requestCount) requests")
  }

  /// The first client continues, and a second client begins at the same time.
  private func resumeInTwoProcesses() async throws {
    let start = ContinuousClock.now
    let processes = try ["first", "second"].map { name in
      let process = Process()
      process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
      process.arguments = [name, service.url.absoluteString, directory.path]
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      return process
    }
    for process in processes { process.waitUntilExit() }
    print("processes: \(processes.map(\.terminationStatus))")
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("  \(service.requestCount) requests by now, \(String(format: "%.2f s", seconds))")
  }

  private func replace(_ title: String, _ client: SyncClient) async throws {
    let figures = SyncFigures()
    client.connect.persistentStoreCoordinator.observer = figures
    defer { client.connect.persistentStoreCoordinator.observer = nil }
    let line = try await figures.measure {
      let result = try await client.replace()
      print("\(title): \(result.inserted) inserted, \(result.updated) updated, \(result.deleted) deleted")
    }
    print("  \(line)")
  }
}
