import CoherenceActions
import CoherenceCore
import Foundation

/// Adds the edits about which the server has replied since the request of a page to the pending edits of the page's
/// merge.
///
/// Such an edit counts as being sent, because the page may be older than the reply. The merge ignores only
/// the values that the server had before the edit, so that the values of a newer page are merged.
struct ConfirmedEdits {
  private let coordinator: PersistentStoreCoordinator
  private let requestedAt: ContinuousClock.Instant
  /// The confirmations of this process.
  private let own: Confirmations
  /// The confirmations of other processes.
  private let shared: SharedConfirmations
  private let names: RecordedNames

  /// - Returns: `nil` for a context without a coordinator.
  init?(
    since requestedAt: ContinuousClock.Instant, in context: ManagedObjectContext, _ own: Confirmations,
    now: @escaping @Sendable () -> Date
  ) {
    guard let coordinator = context.persistentStoreCoordinator else { return nil }
    self.coordinator = coordinator
    self.requestedAt = requestedAt
    self.own = own
    shared = SharedConfirmations(in: context, besides: own, now: now)
    names = RecordedNames(in: context, of: coordinator)
  }

  /// Adds the confirmed deletions of an entity to its pending inserts and deletions.
  func addDeletions(of entity: EntityDescription, to edits: inout [PendingEdit]) throws {
    let entityNames = Set(entity.hierarchy.map(\.name))
    func isWanted(_ confirmation: Confirmation) -> Bool {
      confirmation.kind == .delete
        && entityNames.contains(names.entity(confirmation.entityName)?.name ?? confirmation.entityName)
    }
    let confirmed = own.since(requestedAt, where: isWanted) + (try shared.since(requestedAt, names).filter(isWanted))
    guard !confirmed.isEmpty else { return }
    var editedIDs = Set(edits.map(\.recordID))
    for confirmation in confirmed {
      guard let store = coordinator.persistentStore(with: confirmation.subject.store),
        let id = confirmation.subject.record.objectID(in: store), editedIDs.insert(id).inserted
      else { continue }
      let base = names.presentValues(confirmation.identity, of: names.entity(confirmation.entityName) ?? id.entity)
      edits.append(PendingEdit(of: id, .delete, base: base, isBeingSent: true, isConfirmed: true))
    }
  }

  /// Adds confirmed inserts and updates to the pending edits of some records.
  func addEdits(of ids: [ManagedObjectID], to edits: inout [PendingEdit]) throws {
    let ofOtherProcesses = try shared.since(requestedAt, names)
    guard !ofOtherProcesses.isEmpty || own.hasAny(since: requestedAt) else { return }
    var subjects: [Confirmation.Subject: ManagedObjectID] = [:]
    for id in ids {
      guard let store = id.storeIdentifier else { continue }
      subjects[Confirmation.Subject(store: store, record: OutboxRecord(rootName: id.entity.root.name, key: id.key))] =
        id
    }
    func isWanted(_ confirmation: Confirmation) -> Bool {
      confirmation.kind != .delete && subjects[confirmation.subject] != nil
    }
    let confirmed = own.since(requestedAt, where: isWanted) + ofOtherProcesses.filter(isWanted)
    let indices = Dictionary(zip(edits.map(\.recordID), edits.indices), uniquingKeysWith: { first, _ in first })
    for (subject, confirmations) in Dictionary(grouping: confirmed, by: \.subject) {
      guard let id = subjects[subject], let store = coordinator.persistentStore(with: subject.store) else { continue }
      let index = indices[id]
      var edit = index.map { edits[$0] } ?? PendingEdit(of: id, .update, isConfirmed: true)
      edit.isBeingSent = true
      for confirmation in confirmations {
        edit.add(confirmation, of: names.entity(confirmation.entityName) ?? id.entity, in: store, names)
      }
      if let index { edits[index] = edit } else { edits.append(edit) }
    }
  }
}

extension PendingEdit {
  /// Adds the former values of a confirmed edit, which a merge ignores. A property with an omitted former value keeps
  /// its value against every value of the page.
  ///
  /// A confirmation has the names and types of the model of its forwarder. A later model of this or another process may
  /// have others.
  fileprivate mutating func add(
    _ confirmation: Confirmation, of entity: EntityDescription, in store: any PersistentStore, _ names: RecordedNames
  ) {
    for (recordedName, values) in confirmation.outdated {
      for value in values.compactMap({ $0.attributeValue(in: store) }) {
        guard let present = names.present(value, recordedAs: recordedName, of: entity) else { continue }
        outdated[present.name, default: []].insert(present.value)
      }
    }
    if confirmation.kind == .insert { isConfirmedInsert = true }
    let omittedNames = confirmation.omittedNames.map { entity.property(recordedAs: $0)?.name ?? $0 }
    changed.formUnion(omittedNames)
    serverAssigned.subtract(omittedNames)
    for change in confirmation.members where change.isKnown {
      let name = entity.property(recordedAs: change.name)?.name ?? change.name
      var members = self.members[name] ?? PendingMembers()
      members.added.formUnion(change.added.compactMap { $0.objectID(in: store) })
      members.removed.formUnion(change.removed.compactMap { $0.objectID(in: store) })
      self.members[name] = members
    }
  }
}
