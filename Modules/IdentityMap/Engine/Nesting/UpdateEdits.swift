/// The entities that a closure has changed in an aggregate, each with the value that the closure received.
///
/// The ``ChildCollector`` uses the edits while it stores the result of the closure: an entity with the value that the
/// closure received keeps its stored value. An entity may occur several times in the aggregate, with one value. An
/// occurrence with that value is unchanged, even when another occurrence has been changed.
final class UpdateEdits {
  /// The entities that the closure received, if the store may have other values of them: the closure has used the
  /// store, or an optimistic change is open. `nil` when the stored values at the beginning of the update are the
  /// received ones.
  let given: GivenEntities?
  /// The differences that the comparisons of the update have found, so that no level of the aggregate searches them
  /// again.
  let differences = KnownDifferences()
  /// By node, the value that the closure received of a changed entity.
  private var formerValues: [ObjectIdentifier: Any] = [:]
  /// The entities whose stored stamps have rejected the changes of the closure.
  private var rejecting: Set<ObjectIdentifier> = []
  private let makeReceived: (() -> GivenEntities)?
  /// The entities that the closure received, in every update of an aggregate or alias. Made for the first comparison
  /// that needs them, because most updates need none.
  private lazy var received = makeReceived?()

  /// - Parameters:
  ///   - given: The entities that the closure received, if the store may have other values of them.
  ///   - received: Makes the entities that the closure received; `nil` for an entity without nested entities.
  init(given: GivenEntities? = nil, received: (() -> GivenEntities)? = nil) {
    self.given = given
    makeReceived = received
  }

  /// Whether the closure has changed an entity.
  var hasChanges: Bool { !formerValues.isEmpty }

  /// Whether the closure received an aggregate with this value. Once the changes of its nested entities are stored, the
  /// store has another value of an aggregate that the closure left unchanged.
  func hasReceived<T>(_ aggregate: T, of node: EntityNode<T>) -> Bool {
    hasChanges && received?.contains(aggregate, of: node) ?? false
  }

  /// The value that the closure received of an entity, if an occurrence has been changed.
  func formerValue<T>(of node: EntityNode<T>) -> T? { formerValues[ObjectIdentifier(node)] as? T }

  /// Records a change of an entity.
  ///
  /// - Returns: Whether another occurrence has changed it already.
  func note<T>(_ node: EntityNode<T>, formerValue: T) -> Bool {
    guard formerValues[ObjectIdentifier(node)] == nil else { return true }
    formerValues[ObjectIdentifier(node)] = formerValue
    return false
  }

  /// Records that an entity kept its value, because its stamp rejected the change of the closure.
  func noteRejection(by node: Node) { rejecting.insert(ObjectIdentifier(node)) }

  /// Whether an entity kept its value, because its stamp rejected the change of the closure.
  func isRejected(by node: Node) -> Bool { rejecting.contains(ObjectIdentifier(node)) }
}

extension StoreCore {
  /// Runs a closure that stores the result of an update, with the edits of the update in ``edits``. The update may be
  /// nested in another one, whose edits are restored afterwards.
  func withEdits<R>(_ own: UpdateEdits, _ body: () -> R) -> R {
    let outer = edits
    edits = own
    defer { edits = outer }
    return body()
  }
}
