/// Reads beside other reads. They change nothing in the store, and they go on only while nobody has its lock: so they see
/// the state between two transactions. What has to be changed for a read, as a value that is out of date, an entity that
/// nothing keeps from outside yet, or the order of entities by their use, takes the lock.
extension StoreCore {
  /// - Returns: `nil` when the read needs the lock.
  @usableFromInline func beginReading() -> ReaderSlot? { lock.beginReading() }

  @usableFromInline func endReading(_ slot: ReaderSlot) { slot.leave() }

  /// Under the lock: a read of a node, which could have gone without it, or not.
  @usableFromInline func noteRead(of node: Unmanaged<Node>) {
    guard lock.isContended, lock.depth == 1 else { return }
    node._withUnsafeGuaranteedRef { node in
      if node.handle != nil, node.isReadable { lock.noteRead() }
    }
  }

  /// An observer of a node that was looked for. Under the lock.
  func observer<Value: Sendable>(_ node: ValueNode<Value>) -> EntityObserver<Value> {
    noteRead(of: .passUnretained(node))
    return EntityObserver(node)
  }

  /// The table of a type, if there is one. Usable in reads.
  @inlinable func existingTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>>? {
    let key = ObjectIdentifier(type)
    if let entry = tables.recent[TableDirectory.slot(of: key)], entry.type == key {
      return Unmanaged.fromOpaque(entry.table.toOpaque())
    }
    return tables.existingTable(of: type)
  }

  /// Finds an entity in a read.
  /// - Returns: `nil` when that needs the lock.
  @inlinable func findShared<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> EntityObserver<T>?? {
    guard let table = existingTable(of: type) else { return .some(nil) }
    return table._withUnsafeGuaranteedRef { table in
      guard table.storesPlainLeaves else { return table.findShared(id) }
      guard let node = table.index.find(id, hash: table.index.hash(id)),
        !node._withUnsafeGuaranteedRef({ $0.flags.contains(.absent) })
      else { return .some(nil) }
      return EntityObserver(kept: node).map { .some($0) }
    }
  }

  /// Finds what an alias stands for, beside other reads.
  /// - Returns: `nil` when that needs the lock.
  func findShared<Content: Sendable>(_ key: AliasKey<Content>) -> EntityObserver<Content?>? {
    guard let reading = beginReading() else { return nil }
    defer { endReading(reading) }
    guard let node = aliases[key], node.isReadable, let handle = Handle.known(.passUnretained(node)) else { return nil }
    return EntityObserver(value: node.read(), handle: handle)
  }
}

extension EntityTable {
  /// Finds an entity of a type that has more to it, in a read.
  /// - Returns: `nil` when that needs the lock.
  @usableFromInline func findShared(_ id: T.ID) -> EntityObserver<T>?? {
    guard searchHasNoEffect else { return nil }
    guard let node = node(id) else { return .some(nil) }
    guard node.isReadable, let handle = Handle.known(.passUnretained(node)) else { return nil }
    return EntityObserver(value: node.value, handle: handle)
  }
}

extension ValueNode {
  /// The value as it is now. Takes the lock when it is needed.
  final var current: Value {
    if let reading = core.beginReading() {
      let value: Value? = isReadable ? .some(read()) : nil
      core.endReading(reading)
      if let value { return value }
    }
    return core.exclusively {
      let value = read()
      core.noteRead(of: .passUnretained(self))
      return value
    }
  }
}
