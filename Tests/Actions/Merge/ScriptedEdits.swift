import CoherenceActions
import CoherenceCore
import Synchronization
import TestSupport

/// A source whose pending edits a test sets, and which notes the questions and decisions of merges.
final class ScriptedEdits: PendingEdits {
  private struct State {
    var edits: [ManagedObjectID: PendingEdit] = [:]
    var queries: [PendingEditsQuery] = []
    var decisions: [PendingDecision] = []
  }

  private let state = Mutex(State())
  private let coveredNames: Set<String>
  private let carryingOut: @Sendable (ManagedObjectContext) throws -> Void

  /// - Parameters:
  ///   - names: The names of the entities with pending edits.
  ///   - carryingOut: Called in the context of a merge with decisions.
  init(
    _ names: Set<String> = ["Artist"], carryingOut: @escaping @Sendable (ManagedObjectContext) throws -> Void = { _ in }
  ) {
    coveredNames = names
    self.carryingOut = carryingOut
  }

  func add(_ edits: PendingEdit...) { state.withLock { for edit in edits { $0.edits[edit.recordID] = edit } } }

  func remove(_ id: ManagedObjectID) { state.withLock { $0.edits[id] = nil } }

  var queries: [PendingEditsQuery] { state.withLock { $0.queries } }
  /// The decisions of the last merge with decisions.
  var decisions: [PendingDecision] { state.withLock { $0.decisions } }

  func covers(_ entity: EntityDescription) -> Bool { coveredNames.contains(entity.name) }

  func pendingEdits(_ query: PendingEditsQuery, in context: ManagedObjectContext) throws -> [PendingEdit] {
    state.withLock { state in
      state.queries.append(query)
      let known = state.edits.values.filter { $0.recordID.entity.isKind(of: query.entity) }
      switch query.selection {
      case .insertsAndDeletions: return known.filter { $0.kind != .update }
      case .records(let ids): return ids.compactMap { state.edits[$0] }
      }
    }
  }

  func carryOut(_ decisions: [PendingDecision], in context: ManagedObjectContext) throws {
    state.withLock { $0.decisions = decisions }
    try carryingOut(context)
  }
}

extension MergeStack {
  /// A stack with a source, and artists with the given names.
  static func pending(
    _ backend: Backend, _ source: ScriptedEdits, names: [Int: String] = [:]
  ) throws -> MergeStack {
    let stack = try MergeStack(backend)
    try stack.merge(artists(names), into: "Artist")
    stack.connect.pendingEdits = source
    return stack
  }

  static func artists(_ names: [Int: String]) -> [MergeRecord] {
    names.sorted { $0.key < $1.key }.map { MergeRecord(["id": $0, "name": $1]) }
  }

  /// The identifiers of the artists by their `id`.
  func artistIDs() throws -> [Int32: ManagedObjectID] {
    try read { context in
      Dictionary(
        uniqueKeysWithValues: try objects("Artist", context).map {
          (try $0.value(for: "id", as: Int32.self), $0.objectID)
        })
    }
  }

  /// The identifier of an artist.
  func artistID(_ id: Int32) throws -> ManagedObjectID {
    guard let objectID = try artistIDs()[id] else { throw MockError() }
    return objectID
  }

  /// Deletes an artist here.
  ///
  /// - Returns: The pending deletion.
  func deleteArtist(_ id: Int32, base: [String: AttributeValue] = [:]) throws -> PendingEdit {
    let objectID = try artistID(id)
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      if let artist = try context.artist(id) { context.delete(artist) }
      try context.save()
    }
    return PendingEdit(of: objectID, .delete, base: base.merging(["id": .int(Int64(id))]) { known, _ in known })
  }

  /// The pending edit of an artist's name.
  func renamed(_ id: Int32, from base: String, isBeingSent: Bool = false) throws -> PendingEdit {
    PendingEdit(
      of: try artistID(id), .update, changed: ["name"], base: ["name": .string(base)], isBeingSent: isBeingSent)
  }
}
