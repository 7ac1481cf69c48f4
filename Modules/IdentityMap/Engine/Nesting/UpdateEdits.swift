/// The entities that a closure has changed in an aggregate, each with the value that the closure received.
///
/// An entity may occur several times in the aggregate, with one value. An occurrence with that value is unchanged, even
/// when another occurrence has been changed.
final class UpdateEdits {
  /// The entities that the closure was given. Kept only when their stored values may be others by now, because the
  /// closure has used the store; otherwise the stored values are the given ones.
  let given: GivenEntities?
  let differences = KnownDifferences()
  private var former: [ObjectIdentifier: Any] = [:]

  init(given: GivenEntities? = nil) {
    self.given = given
  }

  /// The value of an entity from before the closure, if it has been changed at some place.
  func formerValue<T>(of node: EntityNode<T>) -> T? { former[ObjectIdentifier(node)] as? T }

  /// Notes that a place changes an entity.
  ///
  /// - Returns: Whether another place has changed it already.
  func note<T>(_ node: EntityNode<T>, formerValue: T) -> Bool {
    guard former[ObjectIdentifier(node)] == nil else { return true }
    former[ObjectIdentifier(node)] = formerValue
    return false
  }
}

extension StoreCore {
  /// Stores the edits that a closure made in an aggregate or in the content of an alias.
  func withEdits<R>(_ made: UpdateEdits, _ body: () -> R) -> R {
    let outer = edits
    edits = made
    defer { edits = outer }
    return body()
  }
}
