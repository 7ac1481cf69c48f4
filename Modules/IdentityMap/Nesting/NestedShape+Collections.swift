/// Many of the same shape, in an order.
final class CollectionShape<C: MutableCollection>: NestedShape<C> {
  private let shape: NestedShape<C.Element>

  init(_ shape: NestedShape<C.Element>) {
    self.shape = shape
  }

  override func adopt(_ part: C, by adoption: inout Adoption) {
    for element in part { shape.adopt(element, by: &adoption) }
  }

  override func count(in part: C) -> Int {
    if let each = shape.fixedCount { return part.count * each }
    return part.reduce(0) { $0 + shape.count(in: $1) }
  }

  override func refresh(_ part: inout C, along cursor: inout LinkCursor) {
    var index = part.startIndex
    while index != part.endIndex {
      let count = shape.fixedCount ?? shape.count(in: part[index])
      if cursor.needsWriting(count) {
        shape.refresh(&part[index], along: &cursor)
      } else {
        cursor.skip(count)
      }
      part.formIndex(after: &index)
    }
  }

  override func remove(from part: inout C, along cursor: inout LinkCursor) -> Bool {
    var kept: [C.Element] = []
    for element in part {
      var element = element
      if !shape.remove(from: &element, along: &cursor) { kept.append(element) }
    }
    guard let rebuilt = C.made(of: kept) else { return true }
    part = rebuilt
    return false
  }
}

extension Collection {
  /// A collection of this type with other elements; `nil` when the type cannot be made of elements.
  static func made(of elements: [Element]) -> Self? {
    if let array = elements as? Self { return array }
    if let type = Self.self as? any RangeReplaceableCollection.Type { return make(type, of: elements) as? Self }
    if let type = Self.self as? any SetAlgebra.Type { return make(set: type, of: elements) as? Self }
    return nil
  }

  private static func make<S: SetAlgebra>(set type: S.Type, of elements: [Element]) -> Any? {
    (elements as? [S.Element]).map { S($0) }
  }

  private static func make<R: RangeReplaceableCollection>(_ type: R.Type, of elements: [Element]) -> Any? {
    (elements as? [R.Element]).map { R($0) }
  }
}

/// A set of entities. Its order changes when its elements do, so they are found by their identifiers.
final class SetShape<T: Identifiable & Sendable & Hashable>: NestedShape<Set<T>> {
  private let shape: EntityShape<T>

  init(_ shape: EntityShape<T>) {
    self.shape = shape
  }

  override func adopt(_ part: Set<T>, by adoption: inout Adoption) {
    for element in part { shape.adopt(element, by: &adoption) }
  }

  override func count(in part: Set<T>) -> Int { part.count }

  override func refresh(_ part: inout Set<T>, along cursor: inout LinkCursor) {
    var changed: [T.ID: T] = [:]
    for _ in 0..<part.count {
      guard let child = cursor.nextToWrite() else { continue }
      let value = unsafeDowncast(child, to: EntityNode<T>.self).value
      changed[value.id] = value
    }
    part = Set(part.map { changed[$0.id] ?? $0 })
  }

  override func remove(from part: inout Set<T>, along cursor: inout LinkCursor) -> Bool {
    var removed: Set<T.ID> = []
    for _ in 0..<part.count {
      guard let child = cursor.nextRemoved() else { continue }
      removed.insert(unsafeDowncast(child, to: EntityNode<T>.self).value.id)
    }
    part = part.filter { !removed.contains($0.id) }
    return false
  }
}
