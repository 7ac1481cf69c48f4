/// The places of the entities in an aggregate, as far as they can be followed without knowing its type: whatever has to
/// find out types at run time takes longer than the work itself.
class AnyPlan {
  /// Writes the values of the children that have changed into the aggregate's value, which is at an address.
  final let refresh: (UnsafeMutableRawPointer, inout LinkCursor) -> Void

  fileprivate init(refresh: @escaping (UnsafeMutableRawPointer, inout LinkCursor) -> Void) {
    self.refresh = refresh
  }
}

/// The places of the entities in an aggregate; one for all values that have the same ones.
final class Plan<T>: AnyPlan {
  private let paths: [PartialIdentifiableKeyPath<T>]
  private let accessors: [NestedAccessor<T>]

  init(_ paths: [PartialIdentifiableKeyPath<T>]) {
    self.paths = paths
    let accessors = paths.map { $0.makeAccessor() }
    self.accessors = accessors
    if accessors.count == 1 {
      super.init(refresh: accessors[0].refreshAddress)
    } else {
      super.init { address, cursor in
        for accessor in accessors { accessor.refreshAddress(address, &cursor) }
      }
    }
  }

  func isMade(of paths: [PartialIdentifiableKeyPath<T>]) -> Bool {
    guard paths.count == self.paths.count else { return false }
    for index in paths.indices {
      let (path, known) = (paths[index], self.paths[index])
      guard path.kind == known.kind, path.place === known.place || path.place == known.place else { return false }
    }
    return true
  }

  func adopt(_ value: T, by adoption: inout Adoption) {
    for accessor in accessors { accessor.adopt(value, &adoption) }
  }

  func refresh(_ value: inout T, along cursor: inout LinkCursor) {
    for accessor in accessors { accessor.refresh(&value, &cursor) }
  }

  /// - Returns: Whether the whole value has to go.
  func remove(from value: inout T, along cursor: inout LinkCursor) -> Bool {
    for accessor in accessors where accessor.remove(&value, &cursor) { return true }
    return false
  }
}
