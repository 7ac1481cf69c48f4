extension StoreCore {
  /// Returns an observer of a found node, and counts the read as one that could have been shared. Under the lock.
  func observer<Value: Sendable>(_ node: ValueNode<Value>) -> EntityObserver<Value> {
    noteRead(of: .passUnretained(node))
    return EntityObserver(node)
  }

  /// Finds an entity in a shared read.
  ///
  /// Specialized for the type, but never inlined: the path with the lock, which is the shorter one, would pay for the
  /// stack and the registers of both.
  /// - Returns: `nil` when the read needs the lock; `.some(nil)` when the entity does not exist.
  @inlinable @inline(never)
  func findShared<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> EntityObserver<T>?? {
    guard let reading = beginReading() else { return nil }
    defer { endReading(reading) }
    guard let table = existingTable(of: type) else { return .some(nil) }
    return table._withUnsafeGuaranteedRef { table in
      guard table.storesPlainLeaves else { return table.findShared(id) }
      guard let node = table.unretainedPresentNode(id) else { return .some(nil) }
      return EntityObserver(retained: node).map { .some($0) }
    }
  }

  /// Finds the content of an alias in a shared read.
  /// - Returns: `nil` when the read needs the lock.
  func findShared<Content: Sendable>(_ key: AliasKey<Content>) -> EntityObserver<Content?>? {
    guard let reading = beginReading() else { return nil }
    defer { endReading(reading) }
    guard let node = aliases[key], node.isReadable, let handle = Handle.existing(.passUnretained(node)) else {
      return nil
    }
    return EntityObserver(value: node.read(), handle: handle)
  }
}

extension EntityTable {
  /// Finds an entity of any type: the general path, for tables without ``storesPlainLeaves``. Under the lock.
  @usableFromInline func find(_ id: T.ID) -> EntityObserver<T>? {
    guard let node = search(id) else { return nil }
    if retention != nil { noteUse(of: node) }
    // Other searches change the order of use, so a shared read cannot replace them.
    return searchHasNoEffect ? core.observer(node) : EntityObserver(node)
  }

  /// Finds an entity on the general path, in a shared read.
  /// - Returns: `nil` when the read needs the lock; `.some(nil)` when the entity does not exist.
  @usableFromInline func findShared(_ id: T.ID) -> EntityObserver<T>?? {
    guard searchHasNoEffect else { return nil }
    guard let node = node(id) else { return .some(nil) }
    guard node.isReadable, let handle = Handle.existing(.passUnretained(node)) else { return nil }
    return EntityObserver(value: node.value, handle: handle)
  }
}
