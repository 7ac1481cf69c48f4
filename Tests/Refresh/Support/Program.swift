import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import TestSupport

typealias TestConnect = GenericConnect<ContextStrategy.Mixed>

final class Song: ManagedObject {
  static let idKey = AttributeKey<Int>("id")
  static let titleKey = AttributeKey<String>("title")

  var title: String {
    get { self[Self.titleKey] }
    set { self[Self.titleKey] = newValue }
  }
}

/// A store, with which a test runs several programs, in turn or at the same time.
struct Place {
  let clock = RefreshTestClock()
  let connectivity: ManualConnectivity
  let directory = TemporaryDirectory()
  var model: ManagedObjectModel
  var configuration: StoreConfiguration

  init(_ backend: Backend = .inMemory, isOnline: Bool = true, staleness: String? = nil) throws {
    model = try Self.model(staleness: staleness).addingRefreshStatus()
    configuration = backend.newConfiguration()
    connectivity = ManualConnectivity(isOnline: isOnline)
  }

  static func model(staleness: String? = nil) throws -> ManagedObjectModel {
    var userInfo = ["uniquenessAttributes": "id"]
    userInfo["stalenessInterval"] = staleness
    return try ManagedObjectModel {
      Entity("Song", class: Song.self, userInfo: userInfo) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Genre", uniqueness: [["name"]]) { Attribute("name", .string) }
      Entity("Note") { Attribute("text", .string, default: "") }
    }
  }

  /// Starts a program on the store. Several programs simulate several processes.
  func program(
    connect connectOptions: ConnectOptions = ConnectOptions(), _ change: (inout RefreshOptions) -> Void = { _ in }
  ) throws -> Program {
    var options = RefreshOptions()
    options.clock = clock
    options.backoff = RetryPolicy(initialDelay: .seconds(10), factor: 2, maximumDelay: .seconds(600), jitter: 0)
    change(&options)
    let connect = TestConnect(
      name: "Refresh", managedObjectModel: model, storeLocation: directory.url, options: connectOptions)
    try connect.attachPersistentStore(for: configuration)
    try connect.start()
    return Program(
      connect: connect, refresher: try Refresher(connect, connectivity: connectivity, options: options),
      directory: directory)
  }
}

/// A running program with a Connect and a refresher.
struct Program {
  let connect: TestConnect
  let refresher: Refresher
  /// The directory of the store, which exists as long as the program.
  let directory: TemporaryDirectory

  /// Returns the titles of the songs in the view context, sorted by the keys of the songs.
  func titles() async throws -> [String] {
    let view = connect.viewContext
    return try await view.perform { try view.fetch(FetchRequest(Song.self).sort("id")).map(\.title) }
  }

  /// Waits for the end of a running attempt, and returns the status. Begins no attempt if the data is fresh.
  func status() async throws -> RefreshStatus { try await refresher.refresh(Song.self, onlyIfStale: true) }

  /// Ends the program.
  func end() async throws {
    await refresher.stop()
    try await connect.stop()
  }
}
