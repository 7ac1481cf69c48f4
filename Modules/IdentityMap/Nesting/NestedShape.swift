/// How entities lie in a part of an aggregate: one, perhaps none, many, or wrapped. Shapes are put together: an
/// optional collection of entities is the shape of an optional over that of a collection over that of an entity.
class NestedShape<Part> {
  /// How many entities are in every part, when that is always the same.
  var fixedCount: Int? { nil }

  /// Stores the entities in the part.
  func adopt(_ part: Part, by adoption: inout Adoption) {}

  /// How many entities are in the part.
  func count(in part: Part) -> Int { 0 }

  /// Writes the values of the linked entities that have changed since they were written last.
  func refresh(_ part: inout Part, along cursor: inout LinkCursor) {}

  /// Takes out the entity that is removed.
  /// - Returns: Whether the part itself has to go, because it cannot be without the entity.
  func remove(from part: inout Part, along cursor: inout LinkCursor) -> Bool { false }
}

/// One entity.
final class EntityShape<T: Identifiable & Sendable>: NestedShape<T> {
  override var fixedCount: Int? { 1 }

  override func adopt(_ part: T, by adoption: inout Adoption) {
    adoption.adopt(part)
  }

  override func count(in part: T) -> Int { 1 }

  override func refresh(_ part: inout T, along cursor: inout LinkCursor) {
    guard let child = cursor.nextToWrite() else { return }
    part = unsafeDowncast(child, to: EntityNode<T>.self).value
  }

  override func remove(from part: inout T, along cursor: inout LinkCursor) -> Bool {
    cursor.nextIsRemoved()
  }
}

/// Something that may be missing.
final class OptionalShape<Wrapped>: NestedShape<Wrapped?> {
  private let shape: NestedShape<Wrapped>

  init(_ shape: NestedShape<Wrapped>) {
    self.shape = shape
  }

  override func adopt(_ part: Wrapped?, by adoption: inout Adoption) {
    if let part { shape.adopt(part, by: &adoption) }
  }

  override func count(in part: Wrapped?) -> Int {
    part.map { shape.count(in: $0) } ?? 0
  }

  override func refresh(_ part: inout Wrapped?, along cursor: inout LinkCursor) {
    guard var wrapped = part else { return }
    // Nothing is held twice while it is written, so that collections are changed in place.
    part = nil
    shape.refresh(&wrapped, along: &cursor)
    part = wrapped
  }

  override func remove(from part: inout Wrapped?, along cursor: inout LinkCursor) -> Bool {
    guard var wrapped = part else { return false }
    part = shape.remove(from: &wrapped, along: &cursor) ? nil : wrapped
    return false
  }
}

/// A wrapper, whose own key paths say what is in it.
final class WrapperShape<W: EntityWrapper>: NestedShape<W> {
  override func adopt(_ part: W, by adoption: inout Adoption) {
    for accessor in accessors(of: part) { accessor.adopt(part, by: &adoption) }
  }

  override func count(in part: W) -> Int {
    accessors(of: part).reduce(0) { $0 + $1.count(in: part) }
  }

  override func refresh(_ part: inout W, along cursor: inout LinkCursor) {
    for accessor in accessors(of: part) { accessor.refresh(&part, along: &cursor) }
  }

  override func remove(from part: inout W, along cursor: inout LinkCursor) -> Bool {
    let count = count(in: part)
    let removed = cursor.countOfRemoved(count)
    for accessor in accessors(of: part) where accessor.remove(from: &part, along: &cursor) { return true }
    // The case of an enum cannot be without its value: its setter ignores nil, and then the whole wrapper goes.
    return self.count(in: part) != count - removed
  }

  private func accessors(of part: W) -> [NestedAccessor<W>] {
    part.wrappedEntitiesKeyPaths(relativeTo: \W.self).map(\.accessor)
  }
}
