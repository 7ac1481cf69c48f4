import CoherenceCore
import CoherencePostgreSQL
import CoherenceSQLite
import CoherenceStrategies
import Foundation

/// The work of a client, which the test may kill at any time.
struct KillCommand: Codable, Sendable {
  enum Work: String, Codable, Sendable {
    /// Edits records and forwards the edits, until it is killed.
    case edit
    /// Forwards the edits of others, until it is killed.
    case forward
    /// Merges pages from before the latest edits at the server, until it is killed.
    case merge
    /// Forwards all edits, and sends the records of the store to the test.
    case settle
    /// Enqueues actions and runs them, until it is killed.
    case act
    /// Runs all actions, and sends their effects to the test.
    case settleActions
  }

  var work: Work
  var place: LedgerPlace
  /// The socket of the test.
  var socket: String
  var seed: UInt64
  /// The number of the first edit or action.
  var firstNumber: Int
  /// The date of the client, in seconds since 1970.
  var date: Double = 0
  /// The step at which the client kills itself; `nil` for none.
  var step: String?
  /// The number of times that the client passes the step before the kill.
  var count = 1
}

extension LedgerPlace {
  /// The configuration of a client's store in a directory.
  var clientConfiguration: StoreConfiguration {
    switch backend {
    case .sqlite: StoreConfiguration(fileName: url.lastPathComponent, type: .sqlite)
    case .postgreSQL:
      StoreConfiguration(type: .postgreSQL, options: [PostgreSQLOption.schema: .string(schema)], location: url)
    }
  }
}

/// A message of a client, on a connection of its own.
struct KillMessage: Codable, Sendable {
  enum Kind: String, Codable, Sendable {
    /// A save with the changes, or with the named actions, begins.
    case willSave
    /// The save has returned.
    case didSave
    /// An edit arrives at the server.
    case request
    /// A page of all records is requested of the server.
    case page
    /// An action has an effect outside of the store.
    case effect
    /// An action begins at a checkpoint.
    case begin
    /// An action has saved a checkpoint.
    case checkpoint
    /// The contents of the store, at the end.
    case contents
    /// The client fails.
    case failure
  }

  var process: Int32
  var kind: Kind
  /// The number of an edit, or of a checkpoint.
  var number = 0
  /// The text of a failure, or the name of an action.
  var text = ""
  /// The ranks of the saved records by tag; zero for a deleted one.
  var changes: [String: Int] = [:]
  var names: [String] = []
  var request: KillRequest?
  var contents: KillContents?
}

/// A request of a forwarder.
struct KillRequest: Codable, Sendable {
  var key: UUID
  var attempt: Int
  var kind: String
  var entity: String
  var id: String
  var tag: String?
  var rank: Int?
  var baseRank: Int?
  /// The identifier of the folder; empty for none, and `nil` when the edit does not change the folder.
  var folder: String?
}

/// A record of a store or a server.
struct KillRecord: Codable, Sendable, Hashable {
  var entity: String
  var tag: String
  var rank: Int
  /// The identifier of the folder; empty for none.
  var folder: String
}

/// The contents of a store.
struct KillContents: Codable, Sendable {
  /// The records by identifier.
  var records: [String: KillRecord] = [:]
  /// The remaining entries, as texts.
  var entries: [String] = []
  /// The number of records with each name of an effect.
  var effects: [String: Int] = [:]
  /// The number of actions in each state.
  var states: [String: Int] = [:]
}

/// The reply of the test.
struct KillAnswer: Codable, Sendable {
  /// The records of the server by identifier.
  var page: [String: KillRecord]?
  /// The identifier that the server has assigned.
  var id: String?
  /// The reason of a refusal.
  var refusal: String?
}
