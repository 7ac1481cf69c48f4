import ArgumentParser
import Coherence
import DemoClient
import Foundation

/// The options for the location of the packages.
struct StoreOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Keep the SQLite store in this directory.", valueName: "directory"))
  var store: String?

  @Option(help: ArgumentHelp("Keep the packages in this PostgreSQL database, in place of SQLite.", valueName: "url"))
  var postgres: String?

  @Flag(help: "Begin with an empty store.")
  var reset = false

  func validate() throws {
    if store != nil, postgres != nil { throw ValidationError("Give --store or --postgres, not both.") }
    if let postgres, URL(string: postgres)?.scheme == nil {
      throw ValidationError("--postgres takes a URL like postgresql://user@host/database.")
    }
  }

  var place: DemoStack.Place {
    if let postgres, let url = URL(string: postgres) { return .postgreSQL(url) }
    return .directory(directory)
  }

  /// The name of the location. A password in a URL is left out.
  var description: String {
    guard let postgres else { return "SQLite in \(directory.path)" }
    let url = URL(string: postgres)
    return "PostgreSQL on \(url?.host ?? "localhost")\(url?.path ?? "")"
  }

  private var directory: URL {
    store.map { URL(fileURLWithPath: $0, isDirectory: true) }
      ?? DemoStack.Connect.defaultStoreLocation().appendingPathComponent("Demo", isDirectory: true)
  }
}
