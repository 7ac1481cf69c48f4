import CoherenceCore
import CoherenceOutbox
import CoherencePersistedActions
import CoherenceRefresh

/// The entities in a store that belong to one module of Coherence, such as the outbox, and not to the application.
enum StorePart: String, CaseIterable {
  case outbox
  case actions
  case refreshes

  /// Returns a model with the entities of the part.
  func added(to model: ManagedObjectModel) throws -> ManagedObjectModel {
    switch self {
    case .outbox: try model.addingOutbox()
    case .actions: try model.addingPersistedActions()
    case .refreshes: try model.addingRefreshStatus()
    }
  }

  /// The name of the part in messages.
  var title: String {
    switch self {
    case .outbox: "outbox"
    case .actions: "persisted actions"
    case .refreshes: "statuses of refreshes"
    }
  }

  private var function: String {
    switch self {
    case .outbox: "addingOutbox()"
    case .actions: "addingPersistedActions()"
    case .refreshes: "addingRefreshStatus()"
    }
  }

  /// Whether a store has the part, according to the model in its metadata.
  func isPresent(in metadata: StoreMetadata) throws -> Bool {
    let names = try added(to: Self.emptyModel).entities.map(\.name)
    let known = Set(metadata.versionHashes.keys).union(metadata.models.flatMap(\.versionHashes.keys))
    return known.isSuperset(of: names)
  }

  /// Returns the error for a store without any of the requested parts.
  static func absence(of parts: [StorePart], in place: String) -> UsageError {
    let titles = parts.map(\.title).joined(separator: " and no ")
    let functions = parts.map { "`\($0.function)`" }.joined(separator: " or ")
    return UsageError("\(place) has no \(titles): no program has opened it with a model of \(functions).")
  }

  static var emptyModel: ManagedObjectModel { get throws { try ManagedObjectModel(entities: []) } }
}
