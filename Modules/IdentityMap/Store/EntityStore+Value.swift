extension EntityStore {
  /// Returns the current value of an entity; `nil` when it does not exist.
  ///
  /// The cheapest way to read: unlike ``find(_:id:)``, it makes no handle, and many threads read at the same time,
  /// also entities that only an alias or an aggregate retains. With a lifetime of a number, a time or bytes, they read
  /// in turn.
  @inlinable
  public func value<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> T? {
    if core.lock.mayShareReads, let value = core.valueShared(type, id: id) { return value }
    return core.exclusively {
      core.unretainedTable(of: type)._withUnsafeGuaranteedRef { table in
        guard table.storesPlainLeaves else { return table.currentValue(id) }
        guard let node = table.unretainedPresentNode(id) else { return nil }
        if core.lock.isContended { core.noteValueRead(of: Unmanaged.fromOpaque(node.toOpaque())) }
        return node._withUnsafeGuaranteedRef { $0.value }
      }
    }
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
  /// Finds the value of an entity in a shared read. Never inlined, as ``findShared(_:id:)``.
  /// - Returns: `nil` when the read needs the lock; `.some(nil)` when the entity does not exist.
  @inlinable @inline(never)
  func valueShared<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> T?? {
    guard let reading = beginReading() else { return nil }
    defer { endReading(reading) }
    guard let table = existingTable(of: type) else { return .some(nil) }
    return table._withUnsafeGuaranteedRef { table in
      guard table.storesPlainLeaves else { return table.valueShared(id) }
      guard let node = table.unretainedPresentNode(id) else { return .some(nil) }
      return .some(.some(node._withUnsafeGuaranteedRef { $0.value }))
    }
  }

  /// Returns the content of an alias: in a shared read if the content is up to date, else under the lock, where the
  /// read brings it up to date.
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
      noteValueRead(of: .passUnretained(node))
      return node.read()
    }
  }
}

extension EntityTable {
  /// Returns the value of an entity of any type: the general path, for tables without ``storesPlainLeaves``. Under the
  /// lock.
  @usableFromInline func currentValue(_ id: T.ID) -> T? {
    guard let node = search(id) else { return nil }
    noteUse(of: node)
    // Other searches change the order of use, so a shared read cannot replace them.
    if searchHasNoEffect { core.noteValueRead(of: .passUnretained(node)) }
    return node.read()
  }

  /// Returns the value of an entity on the general path, in a shared read.
  /// - Returns: `nil` when the read needs the lock; `.some(nil)` when the entity does not exist.
  @usableFromInline func valueShared(_ id: T.ID) -> T?? {
    guard searchHasNoEffect else { return nil }
    guard let node = node(id) else { return .some(nil) }
    return node.isReadable ? .some(.some(node.value)) : nil
  }
}
