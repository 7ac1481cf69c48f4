import ArgumentParser
import CoherenceCore
import CoherenceOutbox
import Foundation

/// The outbox of an open store.
struct OutboxStore {
  private let store: OpenStore
  private let arguments: StoreArguments
  let outbox: Outbox

  init(_ arguments: StoreArguments, writes: Bool = false) throws {
    self.arguments = arguments
    store = try OpenStore.open(arguments, .outbox, writes: writes)
    // The tool saves no edits, so the outbox needs no handlers that could forward them.
    outbox = try Outbox(store.container)
  }

  /// Returns a page of entries, as `Outbox.entries` does.
  ///
  /// A store that is opened read-only keeps saves in its log, whose entries have no numbers by which a command could
  /// name them. These saves become stored entries first, unless the user may not write to the store.
  func entries(
    in entity: String? = nil, state: OutboxEntry.State? = nil, limit: Int, after cursor: OutboxCursor? = nil
  ) async throws -> [OutboxEntry] {
    let page = try await outbox.entries(in: entity, state: state, limit: limit, after: cursor)
    guard page.contains(where: \.id.isTemporaryID) else { return page }
    // The numbers are not needed. Counting makes entries of the whole log.
    guard let writing = try? OutboxStore(arguments, writes: true), (try? await writing.outbox.counts()) != nil else {
      return page
    }
    return try await outbox.entries(in: entity, state: state, limit: limit, after: cursor)
  }

  /// Returns the entry with an identifier.
  ///
  /// - Throws: A `UsageError` for an identifier without an entry.
  func entry(_ id: EntryID) async throws -> OutboxEntry {
    let missing = UsageError("The outbox has no entry \(id): it was sent or dropped meanwhile, or never was.")
    guard let objectID = store.objectID(of: id.entityName, key: id.number) else { throw missing }
    do {
      return try await outbox.entry(objectID)
    } catch ErrorCode.objectNotFound {
      throw missing
    }
  }

  func entries(_ ids: [EntryID]) async throws -> [OutboxEntry] {
    var found: [OutboxEntry] = []
    for id in ids { found.append(try await entry(id)) }
    return found
  }

  /// Returns the conflict with a number.
  ///
  /// - Throws: A `UsageError` for a number without a conflict.
  func conflict(_ number: Int64) async throws -> OutboxConflict {
    var last: OutboxConflict.ID?
    while true {
      let page = try await outbox.conflicts(limit: 500, after: last)
      if let found = page.first(where: { $0.id.key == number }) { return found }
      guard let end = page.last?.id, end.key < number else {
        throw UsageError("The outbox has no conflict \(number): it was resolved meanwhile, or never was.")
      }
      last = end
    }
  }

  /// Returns the identifier of a conflict with a number, also for a conflict that no longer exists.
  func conflictID(_ number: Int64) throws -> OutboxConflict.ID {
    guard let id = store.objectID(of: "CoherenceOutboxConflict", key: number) else {
      throw UsageError("The store has no conflicts.")
    }
    return id
  }

  /// The position of an entry as a text for the next page, and back.
  static func text(of cursor: OutboxCursor) throws -> String {
    let parts = try JSONDecoder().decode(CursorParts.self, from: JSONEncoder().encode(cursor))
    return "\(parts.sequence)-\(parts.key)"
  }

  func cursor(_ text: String) throws -> OutboxCursor {
    let parts = text.split(separator: "-").map { Int64($0) }
    guard parts.count == 2, let sequence = parts[0], let key = parts[1] else {
      throw UsageError("'\(text)' is not a position in the outbox; use the text after 'More: --after' of a page.")
    }
    let store = store.coordinator.persistentStores.first?.identifier.rawValue ?? ""
    let data = try JSONEncoder().encode(CursorParts(sequence: sequence, key: key, store: store))
    return try JSONDecoder().decode(OutboxCursor.self, from: data)
  }

  /// The parts of a coded position.
  private struct CursorParts: Codable {
    let sequence: Int64
    let key: Int64
    let store: String
  }
}

/// A state of entries, as an argument.
enum EntryState: String, ExpressibleByArgument, CaseIterable {
  case pending, sending, parked

  var state: OutboxEntry.State {
    switch self {
    case .pending: .pending
    case .sending: .sending
    case .parked: .parked
    }
  }
}
