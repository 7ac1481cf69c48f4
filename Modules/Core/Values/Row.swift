/// The state of one record at one version: an immutable buffer of values, addressed by slot.
///
/// Rows are shared: by the coordinator's cache, by every context that shows the record, and by the changes that a save
/// announces. A slot's index is the property's ``AttributeDescription/slot`` or ``RelationshipDescription/slot``.
/// To-many relationships have no slot.
public struct Row: @unchecked Sendable {
  // Sendable: the storage is filled before `make` returns and never changed afterwards.
  @usableFromInline let storage: RowStorage

  @inlinable init(storage: RowStorage) { self.storage = storage }

  /// Makes a row from values written in slot order.
  ///
  /// - Parameters:
  ///   - id: The record's permanent identifier, or a temporary one for a record that was not saved.
  ///   - entity: The record's own entity, never an ancestor of it.
  ///   - version: 1 for a fresh record, raised by each save that changes it.
  ///   - write: Appends one value for each slot of the entity, in order.
  @inlinable public static func make(
    id: ManagedObjectID, entity: EntityDescription, version: Int64, write: (inout RowWriter) throws -> Void
  ) rethrows -> Row {
    let buffer = RowStorage.create(minimumCapacity: entity.slotCount) { _ in
      RowStorage.Header(id: id, entity: entity, version: version)
    }
    let storage = unsafeDowncast(buffer, to: RowStorage.self)
    try storage.withUnsafeMutablePointers { header, values in
      var writer = RowWriter(base: values, capacity: entity.slotCount)
      defer { header.pointee.count = Int32(truncatingIfNeeded: writer.count) }
      try write(&writer)
      precondition(writer.count == entity.slotCount, "A row needs one value for each slot of its entity.")
    }
    return Row(storage: storage)
  }

  /// Makes a row from an array of values, one for each slot.
  public static func make(id: ManagedObjectID, entity: EntityDescription, version: Int64, values: [AttributeValue])
    -> Row
  {
    make(id: id, entity: entity, version: version) { writer in
      for value in values { writer.append(value) }
    }
  }

  @inlinable public var id: ManagedObjectID { storage.header.id }
  /// The record's key in its store.
  @inlinable public var key: Int64 { storage.header.id.key }
  @inlinable public var entity: EntityDescription { storage.header.entity }
  @inlinable public var version: Int64 { storage.header.version }
  /// The number of slots.
  @inlinable public var count: Int { Int(storage.header.count) }

  @inlinable public subscript(slot: Int) -> AttributeValue {
    storage.withUnsafeMutablePointers { header, values in
      precondition(slot >= 0 && slot < Int(header.pointee.count), "The row has no such slot.")
      return values[slot]
    }
  }

  /// All values, in slot order.
  public var values: [AttributeValue] {
    storage.withUnsafeMutablePointers { header, values in
      Array(UnsafeBufferPointer(start: values, count: Int(header.pointee.count)))
    }
  }

  /// Whether two rows are one buffer.
  @inlinable public func isIdentical(to other: Row) -> Bool { storage === other.storage }
}

/// The buffer of a row: its header and, behind it in one allocation, its values.
@usableFromInline final class RowStorage: ManagedBuffer<RowStorage.Header, AttributeValue> {
  @usableFromInline struct Header {
    @usableFromInline let id: ManagedObjectID
    // Models live as long as the process, so their descriptions need no counting.
    @usableFromInline unowned(unsafe) let entity: EntityDescription
    @usableFromInline let version: Int64
    @usableFromInline var count: Int32 = 0
    /// Whether the row is in its space's table.
    @usableFromInline var isShared = false

    @inlinable init(id: ManagedObjectID, entity: EntityDescription, version: Int64) {
      self.id = id
      self.entity = entity
      self.version = version
    }
  }

  deinit {
    if header.isShared { leaveTable() }
    _ = withUnsafeMutablePointers { header, values in
      values.deinitialize(count: Int(header.pointee.count))
    }
  }
}

/// Fills a row, slot after slot.
public struct RowWriter {
  @usableFromInline let base: UnsafeMutablePointer<AttributeValue>
  @usableFromInline let capacity: Int
  @usableFromInline var count = 0

  @inlinable init(base: UnsafeMutablePointer<AttributeValue>, capacity: Int) {
    self.base = base
    self.capacity = capacity
  }

  /// Writes the next slot.
  @inlinable public mutating func append(_ value: consuming AttributeValue) {
    precondition(count < capacity, "A row takes one value for each slot of its entity.")
    (base + count).initialize(to: value)
    count += 1
  }
}

/// A set of slots of one row.
public struct SlotSet: Sendable, Hashable, Sequence {
  /// The first 64 slots, which is all of them for most entities.
  @usableFromInline var low: UInt64 = 0
  @usableFromInline var high: [UInt64] = []

  @inlinable public init() {}
  public init(_ slots: some Sequence<Int>) { for slot in slots { insert(slot) } }

  @inlinable public var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }
  public var count: Int { high.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  @inlinable public func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low & (1 << UInt64(slot)) != 0 }
    let word = slot / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(slot % 64)) != 0
  }

  @inlinable public mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 << UInt64(slot)
      return
    }
    let word = slot / 64 - 1
    while high.count <= word { high.append(0) }
    high[word] |= 1 << UInt64(slot % 64)
  }

  @inlinable public mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 << UInt64(slot))
      return
    }
    let word = slot / 64 - 1
    guard word < high.count else { return }
    high[word] &= ~(1 << UInt64(slot % 64))
    while high.last == 0 { high.removeLast() }
  }

  public func union(_ other: SlotSet) -> SlotSet {
    var result = self
    for slot in other { result.insert(slot) }
    return result
  }

  /// The slots in ascending order.
  public func makeIterator() -> AnyIterator<Int> {
    var word = 0
    var bits = low
    return AnyIterator {
      while bits == 0 {
        guard word < high.count else { return nil }
        bits = high[word]
        word += 1
      }
      defer { bits &= bits - 1 }
      return word * 64 + bits.trailingZeroBitCount
    }
  }
}
