import CoherenceActions
import CoherenceCore

extension PendingEdit {
  /// Combines the entries of one record into one edit; `nil` if the entries have no common effect.
  ///
  /// - Parameter store: The store of the entries.
  init?(_ id: ManagedObjectID, _ entries: [OutboxEntry], in store: (any PersistentStore)?) {
    let steps = OutboxPlan(entries: entries).steps
    guard let first = steps.first, let store else { return nil }
    let planned = steps.flatMap(\.entries)
    var merged = MergedChanges(planned[0])
    for entry in planned.dropFirst() { merged.add(entry) }
    let kind: OutboxEntryKind = steps.contains { $0.kind == .delete } ? .delete : first.kind
    let isAttempted = planned[0].facts.isAttempted
    self.init(
      of: id, Kind(kind),
      isBeingSent: planned.contains { $0.state == .sending } || isAttempted && kind == .insert,
      isInsertUnanswered: isAttempted && planned[0].kind == .insert)
    isUnanswered = isAttempted || isBeingSent
    // The server may have the values of a request without an answer, even if they were changed since.
    if planned.count > 1, kind == .update || isAttempted {
      for change in planned.flatMap(\.changes) where change.isKnown {
        if let value = change.value?.attributeValue(in: store) { ownValues[change.name, default: []].insert(value) }
      }
    }
    for change in merged.changes(of: kind) where change.isKnown {
      changed.insert(change.name)
      base[change.name] = change.base?.attributeValue(in: store)
    }
    for change in merged.members where change.isKnown && kind != .delete {
      changed.insert(change.name)
      members[change.name] = PendingMembers(
        added: Set(change.added.compactMap { $0.objectID(in: store) }),
        removed: Set(change.removed.compactMap { $0.objectID(in: store) }))
    }
    if isAttempted, kind == .update { keepReverted(of: planned, in: store) }
    // The server may have assigned another key since the record was deleted.
    if kind == .delete { base.merge(merged.identity(of: kind)) { _, assigned in assigned } }
    guard !planned.allSatisfy(\.isReadable) else { return }
    let name = planned[0].entityName
    keepAll(of: store.environment.model.entitiesByName[name] ?? id.entity)
  }

  /// Keeps the properties that regained their first values and members, although a request without an answer has
  /// contained other ones: the server may have those, and gets the present ones by the next request.
  private mutating func keepReverted(of entries: [OutboxEntry], in store: any PersistentStore) {
    for change in entries.flatMap(\.changes) where change.isKnown && changed.insert(change.name).inserted {
      base[change.name] = change.base?.attributeValue(in: store)
    }
    for change in entries.flatMap(\.members) where change.isKnown {
      changed.insert(change.name)
      let added = change.added.compactMap { $0.objectID(in: store) }
      let removed = change.removed.compactMap { $0.objectID(in: store) }
      var combined = members[change.name] ?? PendingMembers()
      combined.added = combined.added.subtracting(removed).union(added)
      combined.removed = combined.removed.subtracting(added).union(removed)
      members[change.name] = combined
    }
  }

  /// The names of the properties that a user decides about after the server has refused the edit: the properties for
  /// which the server reports a value other than the base, without those that the server assigns. For an update these
  /// are only changed properties, or all changed properties if the server reports other values for none of them. For a
  /// deletion without another value these are the properties that the server has not reported, or all properties if it
  /// has reported all of them.
  ///
  /// - Parameter keys: The names of the properties that identify the record.
  func conflictingNames(with serverValues: [String: AttributeValue]?, keys: Set<String>) -> Set<String> {
    guard let serverValues else { return [] }
    let names = Set(serverValues.keys.filter { serverValues[$0] != base[$0] }).subtracting(serverAssigned)
    switch kind {
    case .insert: return names
    case .update:
      let both = names.intersection(changed)
      return both.isEmpty ? changed : both
    case .delete:
      guard names.isEmpty else { return names }
      let known = changed.subtracting(serverAssigned).subtracting(keys)
      let unreported = known.subtracting(serverValues.keys)
      return unreported.isEmpty ? known : unreported
    }
  }

  /// Makes merges keep every value of the record, because the values of an unreadable entry are not known.
  ///
  /// - Parameter entity: The record's own entity.
  mutating func keepAll(of entity: EntityDescription) {
    changed = Set(entity.slots.map(\.name)).union(entity.properties.map(\.name))
    isBeingSent = true
  }
}

extension PendingEdit.Kind {
  fileprivate init(_ kind: OutboxEntryKind) {
    switch kind {
    case .insert: self = .insert
    case .update: self = .update
    case .delete: self = .delete
    }
  }
}

extension OutboxValue {
  /// The value as rows have it; `nil` for an omitted value, and for a target whose entity the model does not have.
  func attributeValue(in store: any PersistentStore) -> AttributeValue? {
    switch self {
    case .value(let value): value
    case .record(let record): record.objectID(in: store).map(AttributeValue.reference)
    case .omitted: nil
    }
  }
}
