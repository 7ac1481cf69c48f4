extension EntityStore {
  /// Returns the current value of an entity; `nil` when it does not exist.
  ///
  /// The cheapest way to read: unlike ``find(_:id:)``, it makes no handle, and many threads read at the same time, also
  /// entities that only an alias or an aggregate keeps.
  @inlinable
  public func value<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> T? {
    if let reading = core.beginReading() {
      let value = core.valueShared(type, id: id)
      core.endReading(reading)
      if let value { return value }
    }
    return core.exclusively { core.value(type, id: id) }
  }

  /// Returns the current entity of an alias; `nil` without content. See ``value(_:id:)``.
  public func value<T: Identifiable & Sendable>(named: AliasKey<T>) -> T? {
    core.value(of: named)
  }

  /// Returns the current collection of an alias; `nil` without content. See ``value(_:id:)``.
  public func value<C: Collection & Sendable>(named: AliasKey<C>) -> C? where C.Element: Identifiable & Sendable {
    core.value(of: named)
  }
}

extension StoreCore {
  /// Finds the value of an entity in a read.
  /// - Returns: `nil` when that needs the lock.
  @inlinable func valueShared<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> T?? {
    guard let table = existingTable(of: type) else { return .some(nil) }
    return table._withUnsafeGuaranteedRef { table in
      guard table.storesPlainLeaves else { return table.valueShared(id) }
      guard let node = table.unretainedNode(id, hash: table.index.hash(id)),
        !node._withUnsafeGuaranteedRef({ $0.flags.contains(.absent) })
      else { return .some(nil) }
      return .some(.some(node._withUnsafeGuaranteedRef { $0.value }))
    }
  }

  /// The value of an entity. Under the lock.
  @usableFromInline func value<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> T? {
    let table = table(of: type)
    guard let node = table.search(id) else { return nil }
    table.noteUse(of: node)
    if table.searchHasNoEffect { noteValueRead(of: node) }
    return node.read()
  }

  fileprivate func value<Content: Sendable>(of key: AliasKey<Content>) -> Content? {
    if let reading = beginReading() {
      let node = aliases[key]
      let isReadable = node?.isReadable ?? true
      let value = isReadable ? node?.read() : nil
      endReading(reading)
      if isReadable { return value }
    }
    return exclusively {
      guard let node = aliases[key] else { return nil }
      noteValueRead(of: node)
      return node.read()
    }
  }

  /// Under the lock: a read of a value, for which nothing has to keep the node.
  private func noteValueRead(of node: Node) {
    if lock.depth == 1, node.isReadable { lock.noteRead() }
  }
}

extension EntityTable {
  /// Returns the value of an entity on the general path, in a shared read.
  /// - Returns: `nil` when the read needs the lock.
  @usableFromInline func valueShared(_ id: T.ID) -> T?? {
    guard searchHasNoEffect else { return nil }
    guard let node = node(id) else { return .some(nil) }
    return node.isReadable ? .some(.some(node.value)) : nil
  }
}
