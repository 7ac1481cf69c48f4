/// Fast paths for the most frequent case: a leaf without relations in a store without logs, whose type has no query, no
/// observed identifier, and no policy beside the default one. Such a write changes nothing but the value.
/// They are compiled into the calling module, specialized for its types. Every other case takes the general path.
extension EntityTable {
  /// Stores a leaf, to which the caller makes a handle; `nil` when the general path has to store it.
  @inlinable func putLeaf(_ entity: T, stamp: Stamp?) -> Unmanaged<EntityNode<T>>? {
    guard storesPlainLeaves, core.instrumentation.isOff, stamp == nil else { return nil }
    let hash = index.hash(entity.id)
    guard let found = unretainedNode(entity.id, hash: hash) else {
      return .passUnretained(createLeaf(entity, hash: hash))
    }
    guard found._withUnsafeGuaranteedRef({ $0.isPlainLeaf }) else { return nil }
    // Bytes instead of `==`, which may ignore fields. A leaf without relations has no observers to notify.
    found._withUnsafeGuaranteedRef { if !haveSameBytes($0.value, entity) { set($0, entity) } }
    return found
  }

  @inlinable func createLeaf(_ entity: T, hash: UInt32) -> EntityNode<T> {
    let node = EntityNode(entity, core: core)
    index.insert(node, hash: hash)
    if core.undo.isRecording { recordCreation(of: node) }
    return node
  }

  /// Replaces the value of a leaf without relations.
  @inlinable func set(_ node: EntityNode<T>, _ value: consuming T) {
    node.version &+= 1
    // The former value is released after the node has the new one: its `deinit` can use the store.
    var former = value
    swap(&node.value, &former)
    if core.undo.isRecording, !node.flags.contains(.recorded) { record(former, of: node) }
  }

  /// Stores a nested leaf; `nil` when the general path has to store it.
  @inlinable func collectLeaf(_ entity: T, stamp: Stamp?) -> EntityNode<T>? {
    guard storesPlainLeaves, core.instrumentation.isOff, stamp == nil else { return nil }
    let hash = index.hash(entity.id)
    guard let node = anyNode(entity.id, hash: hash) else {
      return createLeaf(entity, hash: hash)
    }
    guard node.flags.subtracting([.hasRelations, .recorded]).isEmpty else { return nil }
    if haveSameBytes(node.value, entity) { return node }
    guard !core.undo.isRecording, traits.areEqual(node.value, entity) else { return nil }
    setEqual(node, to: entity)
    return node
  }

  /// Changes a leaf.
  /// - Returns: Whether the result of the closure was stored; `nil` when the general path has to change the leaf.
  @inlinable func updateLeaf<E: Error>(
    _ node: EntityNode<T>, stamp: Stamp?, _ update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool? {
    guard storesPlainLeaves, core.instrumentation.isOff, stamp == nil, node.isPlainLeaf else { return nil }
    var value = node.value
    try update(&value)
    // The closure may have used the store, or changed the identifier.
    guard value.id == node.value.id, storesPlainLeaves, core.instrumentation.isOff, node.isPlainLeaf else {
      return finishUpdate(node, value)
    }
    set(node, value)
    return true
  }

  /// Stores the result of an update on the general path.
  @usableFromInline func finishUpdate(_ node: EntityNode<T>, _ value: T) -> Bool {
    update(node, stamp: nil) { $0 = value }
  }

}

extension EntityNode {
  /// Whether the node is a leaf without relations, flags or special state.
  @inlinable var isPlainLeaf: Bool { flags.subtracting(.recorded).isEmpty }
}
