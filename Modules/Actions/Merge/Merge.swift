import CoherenceCore

/// One merge at work: matches input and records by key, and brings the records to what the input says.
struct Merge {
  private let context: ActionContext
  private let scope: MergeScope
  private let finder: MergeFinder
  private var items: [MergeKey: any MergeItem] = [:]
  /// The keys in order of input, which is the order of insertion.
  private var keys: [MergeKey] = []
  private(set) var result = MergeResult()

  /// - Throws: ``ErrorCode/invalidMergeKey`` for items that the policies do not allow.
  init(
    in context: ActionContext, scope: MergeScope, keyAttributes: [AttributeDescription], items: [any MergeItem]
  ) throws {
    self.context = context
    self.scope = scope
    finder = MergeFinder(context: context, entity: scope.entity, keyAttributes: keyAttributes)
    for item in items { try admit(item) }
  }

  private mutating func admit(_ item: any MergeItem) throws {
    if item.key.isIncomplete {
      guard scope.options.missingKeys == .skip else {
        throw CoherenceError(
          .invalidMergeKey,
          "A record for '\(scope.entity.name)' lacks a value of \(finder.keyNames); give it one, or set "
            + "`missingKeys` to `.skip`.")
      }
      result.skipped += 1
    } else if items[item.key] != nil {
      switch scope.options.duplicates {
      case .fail:
        throw CoherenceError(
          .invalidMergeKey,
          "Two records for '\(scope.entity.name)' have the same \(finder.keyNames); send one, or choose a policy for "
            + "`duplicates`.")
      case .firstWins: break
      case .lastWins: items[item.key] = item
      }
      result.skipped += 1
    } else {
      items[item.key] = item
      keys.append(item.key)
    }
  }

  mutating func apply() throws {
    let candidates = scope.options.mode == .replace ? try finder.all(where: scope.subsetFilter, scope) : []
    let existing = try matches(among: candidates)
    let open = try changeable(candidates + existing.values)
    var links = MergeLinks(context: context)
    var changed: Set<ManagedObject> = []
    for key in keys {
      guard let item = items[key] else { continue }
      if let object = existing[key] {
        guard open.contains(object) else {
          result.skipped += 1
          continue
        }
        if try update(object, from: item) { changed.insert(object) }
        links.add(object, to: item.links.filter { !scope.ignoredAttributes.contains($0.key) })
      } else {
        links.add(try item.insert(into: context, entity: scope.entity), to: item.links)
        result.inserted += 1
      }
      try context.refuseIfCanceled()
    }
    changed.formUnion(try links.apply())
    count(existing: existing.filter { open.contains($0.value) }, changed: changed)
    delete(candidates, but: Set(existing.values), open: open)
  }

  // MARK: Steps

  /// The records that have the keys of input, whether the filter covers them or not.
  private func matches(among candidates: [ManagedObject]) throws -> [MergeKey: ManagedObject] {
    var existing: [MergeKey: ManagedObject] = [:]
    for object in candidates {
      let key = try finder.key(of: object)
      if items[key] != nil, existing[key] == nil { existing[key] = object }
    }
    let missing = keys.filter { existing[$0] == nil }
    existing.merge(try finder.objects(with: missing)) { found, _ in found }
    return existing
  }

  /// The records that satisfy the condition.
  private func changeable(_ objects: [ManagedObject]) throws -> Set<ManagedObject> {
    if scope.condition == .constant(true) { return Set(objects) }
    return try finder.objects(among: Set(objects), where: scope.condition)
  }

  /// Writes the values that differ. Answers whether there were any.
  private func update(_ object: ManagedObject, from item: any MergeItem) throws -> Bool {
    var isChanged = false
    for (name, value) in item.values where !scope.ignoredAttributes.contains(name) {
      guard object.entity.attribute(named: name) != nil, try object.value(for: name) != value else { continue }
      try object.setAttributeValue(value, for: name)
      isChanged = true
    }
    return isChanged
  }

  private mutating func count(existing: [MergeKey: ManagedObject], changed: Set<ManagedObject>) {
    let updated = existing.values.count { changed.contains($0) }
    result.updated += updated
    result.unchanged += existing.count - updated
  }

  private mutating func delete(
    _ candidates: [ManagedObject], but matched: Set<ManagedObject>, open: Set<ManagedObject>
  ) {
    for object in candidates where !matched.contains(object) {
      if open.contains(object) {
        context.delete(object)
        result.deleted += 1
      } else {
        result.skipped += 1
      }
    }
  }
}
