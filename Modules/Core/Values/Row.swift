/// The state of one record at one version: an immutable buffer of values, addressed by slot.
///
/// Rows are shared: by the coordinator's cache, by every context with the record, and by the changes that a save
/// publishes. A slot's index is the property's ``AttributeDescription/slot`` or ``RelationshipDescription/slot``.
/// To-many relationships have no slot.
public struct Row: @unchecked Sendable {
  // Sendable: the storage is filled before `make` returns. Afterwards only the owner of the one reference changes it,
  // see `Row+Drafting`.
  // Safety of `unsafeDowncast`: `create` makes an instance of the class that it is called on.
  @usableFromInline var storage: RowStorage

  @inlinable init(storage: RowStorage) { self.storage = storage }

  /// Makes a row from values written in slot order.
  ///
  /// - Parameters:
  ///   - id: The record's permanent identifier, or a temporary one for an unsaved record.
  ///   - entity: The record's own entity, never an ancestor of it.
  ///   - version: 1 for a fresh record, raised by each save that changes it.
  ///   - write: Appends one value for each slot of the entity, in order.
  @inlinable public static func make(
    id: ManagedObjectID, entity: EntityDescription, version: Int64, write: (inout RowWriter) throws -> Void
  ) rethrows -> Row {
    let buffer = RowStorage.create(minimumCapacity: entity.slotCount) { _ in
      RowStorage.Header(id: id, entity: entity, version: version)
    }
    let storage = unsafeDowncast(consume buffer, to: RowStorage.self)
    var writer = RowWriter(base: storage.values, capacity: entity.slotCount)
    // Also after an error: the `deinit` of the storage releases the values written so far.
    defer { storage.content.pointee.count = Int32(truncatingIfNeeded: writer.count) }
    try write(&writer)
    Misuse.check(
      writer.count == entity.slotCount,
      "A row of '\(entity.name)' needs \(entity.slotCount) values, one for each slot, not \(writer.count).")
    return Row(storage: storage)
  }

  /// Makes a row from an array of values, one for each slot of the entity, in order. Another number of values ends the
  /// process with a sentence.
  public static func make(id: ManagedObjectID, entity: EntityDescription, version: Int64, values: [AttributeValue])
    -> Row
  {
    make(id: id, entity: entity, version: version) { writer in
      for value in values { writer.append(value) }
    }
  }

  /// The identifier of the record; temporary for an unsaved record.
  @inlinable public var id: ManagedObjectID { content.id }
  /// The record's key in its store.
  @inlinable public var key: Int64 { content.id.key }
  /// The record's own entity, never an ancestor of it.
  @inlinable public var entity: EntityDescription { content.entity }
  /// As ``entity``, without reference counting.
  @inline(__always) var unmanagedEntity: Unmanaged<EntityDescription> {
    withExtendedLifetime(storage) { Unmanaged.passUnretained(storage.content.pointee.entity) }
  }
  /// The number of the record's state: 1 for a fresh record, raised by each save that changes the record. Stores
  /// compare versions to detect conflicts.
  @inlinable public var version: Int64 { content.version }
  /// The number of slots.
  @inlinable public var count: Int { Int(content.count) }

  // Safety of `Unmanaged`: the address is used while the caller retains the buffer.
  @inlinable @inline(__always) var content: RowStorage.Header {
    withExtendedLifetime(storage) { storage.content.pointee }
  }

  /// The value of a slot, copied out of the buffer at a constant cost. Texts and data share their memory with the row.
  ///
  /// - Precondition: The slot belongs to the row's entity; another slot ends the process with a sentence.
  @inlinable public subscript(slot: Int) -> AttributeValue {
    withExtendedLifetime(storage) { valueAddress(at: slot).pointee }
  }

  /// The address of the value of a slot, as ``subscript(_:)``. Valid as long as the caller, or the owner of this row,
  /// retains the buffer and does not change it.
  @inlinable @inline(__always) func valueAddress(at slot: Int) -> UnsafePointer<AttributeValue> {
    Misuse.check(
      slot >= 0 && slot < Int(storage.content.pointee.count),
      "The row has no such slot. A store returns rows of the requested entity and its subentities only.")
    return UnsafePointer(storage.values + slot)
  }

  /// Reads values in place. The pointer is valid inside of the block.
  @inlinable @inline(__always) package func withValues<T>(
    _ body: (UnsafePointer<AttributeValue>) throws -> T
  ) rethrows -> T {
    try withExtendedLifetime(storage) { try body(UnsafePointer(storage.values)) }
  }

  /// Stands for the record's identifier in the slots of a ``ValueSink``.
  @inlinable public static var identifierSlot: Int { .min }

  /// The value of a slot, or the record's identifier for ``identifierSlot``.
  func valueOrIdentifier(at slot: Int) -> AttributeValue { slot == Self.identifierSlot ? .reference(id) : self[slot] }

  /// All values, in slot order. Each call makes an array; read a few values by their slots instead.
  public var values: [AttributeValue] {
    withExtendedLifetime(storage) { Array(UnsafeBufferPointer(start: storage.values, count: count)) }
  }

  /// Whether two rows are one buffer, and so equal, at the cost of one comparison. Different buffers may have equal
  /// values.
  @inlinable public func isIdentical(to other: Row) -> Bool { storage === other.storage }
}

extension [Row] {
  /// Calls a block for each row, without counting a reference to the row: the array retains its rows during the call.
  @inline(__always) func forEachBorrowed(_ body: (Row) -> Void) {
    visit { buffer in buffer._withUnsafeGuaranteedRef { body(Row(storage: $0)) } }
  }

  /// Calls a block with the buffer of each row. For a block that passes the buffer on, because passing a `Row` on counts a
  /// reference.
  @inline(__always) func visit(_ body: (Unmanaged<RowStorage>) -> Void) {
    // Safety of `Unmanaged` and `withMemoryRebound`: a row is one reference to its buffer, which the array retains.
    withUnsafeBufferPointer { rows in
      rows.withMemoryRebound(to: Unmanaged<RowStorage>.self) { buffers in
        for buffer in buffers { body(buffer) }
      }
    }
  }
}

/// The buffer of a row: its header and, behind it in one allocation, its values.
@usableFromInline final class RowStorage: ManagedBuffer<RowStorage.Header, AttributeValue> {
  @usableFromInline struct Header {
    @usableFromInline var id: ManagedObjectID
    // Safety of `unowned(unsafe)`: models live as long as the process, so their descriptions need no counting.
    @usableFromInline unowned(unsafe) let entity: EntityDescription
    @usableFromInline var version: Int64
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
    if content.pointee.isShared { leaveTable() }
    values.deinitialize(count: Int(content.pointee.count))
  }

  // Safety of `assumingMemoryBound`: `checkLayout` compares the addresses with those of `ManagedBuffer` before any row.
  // `ManagedBuffer` hands out the same two addresses, at the price of a check of overlapping access at each use: more
  // than reading a value costs. A row's header and values lie one behind the other after the two words of every object.

  @inlinable static var contentOffset: Int { 2 * MemoryLayout<Int>.size }
  @inlinable static var valuesOffset: Int {
    let alignment = MemoryLayout<AttributeValue>.alignment
    return (contentOffset + MemoryLayout<Header>.size + alignment - 1) & ~(alignment - 1)
  }

  @inlinable @inline(__always) var content: UnsafeMutablePointer<Header> {
    (Unmanaged.passUnretained(self).toOpaque() + Self.contentOffset).assumingMemoryBound(to: Header.self)
  }

  @inlinable @inline(__always) var values: UnsafeMutablePointer<AttributeValue> {
    (Unmanaged.passUnretained(self).toOpaque() + Self.valuesOffset).assumingMemoryBound(to: AttributeValue.self)
  }

  /// Ends the process unless buffers are laid out as the addresses above say. Called for each entity of a model, before
  /// the first row of the entity is made.
  static func checkLayout(_ entity: EntityDescription) {
    let buffer = RowStorage.create(minimumCapacity: 1) { _ in
      Header(id: ManagedObjectID(space: entity.root.temporarySpace, key: 0), entity: entity, version: 0)
    }
    let storage = unsafeDowncast(buffer, to: RowStorage.self)
    let isAsExpected = storage.withUnsafeMutablePointers { $0 == storage.content && $1 == storage.values }
    Misuse.check(
      isAsExpected,
      "Rows cannot be read, because this version of Swift lays out the memory of `ManagedBuffer` in another way:"
        + " use the Swift version that this release of the framework was made for.")
  }
}

/// Fills a row, slot after slot. Valid only inside of the block that receives it; see
/// ``Row/make(id:entity:version:write:)``.
public struct RowWriter {
  @usableFromInline let base: UnsafeMutablePointer<AttributeValue>
  @usableFromInline let capacity: Int
  @usableFromInline var count = 0

  @inlinable init(base: UnsafeMutablePointer<AttributeValue>, capacity: Int) {
    self.base = base
    self.capacity = capacity
  }

  /// Writes the next slot, without a check of the value's type. A value beyond the last slot ends the process with a
  /// sentence.
  @inlinable public mutating func append(_ value: consuming AttributeValue) {
    Misuse.check(count < capacity, "A row takes one value for each slot of its entity.")
    (base + count).initialize(to: value)
    count += 1
  }
}
