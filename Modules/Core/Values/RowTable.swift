import CoherenceRuntime

/// The rows of one space that this process uses, so that contexts share buffers.
///
/// The table does not retain rows. It has their plain addresses, and a row removes itself in its `deinit`, as objects
/// do in ``ObjectRegistry``.
///
/// A row is shared by its version alone. A store and its copies have one identifier, and so one space, but different
/// rows of one version. While stores in several locations are attached, the table shares no rows.
///
/// Invariants, see ``checkInvariants()``: each word is the address of a row marked as shared, under the row's own key,
/// and the row's `deinit` has not removed the word yet. A replaced row stays marked, and its `deinit` removes nothing.
final class RowTable: @unchecked Sendable {
  // Sendable: `keys` is used under `lock` only.
  // Safety of `Unmanaged`: a row removes its address before its memory is freed, and the runtime refuses a reference to
  // a row whose deinitialisation has begun.
  // Safety of `@exclusivity(unchecked)`: `lock`, which is not re-entrant, admits one access at a time.
  private let lock = Lock()
  @exclusivity(unchecked) private var keys = KeyTable()
  /// The hash of the location of the store that was attached last with the space; `nil` before the first store.
  @exclusivity(unchecked) private var location: Int?
  /// Whether the attached stores of the space have had several locations, so that they may be copies of each other.
  @exclusivity(unchecked) private var hasCopies = false

  /// Records that a store with the space is being attached, before any context can read the store.
  ///
  /// - Parameters:
  ///   - location: A hash of the location of the store.
  ///   - isAttachedElsewhere: Whether a store with the space is attached already. Otherwise the rows in the table are
  ///     of an earlier attachment: the content of the store may have been replaced by a backup since.
  func noteStore(at location: Int, isAttachedElsewhere: Bool) {
    lock.withLock {
      // Without another attached store, no context reads the copies of earlier attachments any more.
      hasCopies = isAttachedElsewhere && (hasCopies || location != (self.location ?? location))
      self.location = location
      if hasCopies || !isAttachedElsewhere { keys.removeAll() }
    }
  }

  /// Replaces each row by the table's row of the same version, and adds rows newer than the table's row. A row older
  /// than the table's row stays as it is, because rows read together belong to one state of the store. Called by the
  /// context that has read the rows from a store, on any thread.
  func share(_ rows: inout [Row]) {
    // The references that this call drops, each perhaps the last reference to its row. They are released after the
    // lock, because the `deinit` of a row takes the lock.
    var releasedAfterwards: [Row] = []
    lock.withLock {
      guard !hasCopies else { return }
      keys.reserve(rows.count)
      for index in rows.indices {
        let row = rows[index]
        keys.update(row.key) { word in
          if let existing = retained(word) {
            if existing.version > row.version {
              releasedAfterwards.append(existing)
              return word
            }
            if existing.version == row.version {
              releasedAfterwards.append(row)
              rows[index] = existing
              return word
            }
            releasedAfterwards.append(existing)
          }
          row.storage.content.pointee.isShared = true
          return self.word(row.storage)
        }
      }
    }
    withExtendedLifetime(releasedAfterwards) {}
  }

  /// Adds rows that a save wrote, in place of older rows. Returns no rows to share: the context has its rows already.
  fileprivate func enter(_ rows: ArraySlice<Row>) {
    // The references that this call drops, each perhaps the last reference to its row. They are released after the
    // lock, because the `deinit` of a row takes the lock.
    var releasedAfterwards: [Row] = []
    lock.withLock {
      guard !hasCopies else { return }
      keys.reserve(rows.count)
      for row in rows {
        keys.update(row.key) { word in
          if let existing = retained(word) {
            releasedAfterwards.append(existing)
            if existing.version >= row.version { return word }
          }
          row.storage.content.pointee.isShared = true
          return self.word(row.storage)
        }
      }
    }
    withExtendedLifetime(releasedAfterwards) {}
  }

  /// Reserves capacity for further rows.
  func reserve(_ count: Int) { lock.withLock { keys.reserve(count) } }

  /// The table's row with a key, the newest that the process uses; `nil` for none, and with copies of a store attached.
  func row(_ key: Int64) -> Row? {
    var result: Row?
    lock.withLock { result = retained(keys[key]) }
    return result
  }

  /// Removes a row from its `deinit`, unless another row has replaced it.
  fileprivate func remove(_ storage: RowStorage) {
    lock.lock()
    keys.remove(storage.content.pointee.id.key, ifWord: word(storage))
    lock.unlock()
  }

  /// Ends a debug build if an invariant of the table does not hold.
  func checkInvariants() {
    lock.withLock {
      keys.checkInvariants()
      keys.forEach { word in assert(isEntered(word), "A row table has the addresses of shared rows by their keys.") }
    }
  }

  /// Whether a word is the address of a shared row with the word's key. Called under the lock, which the row's `deinit`
  /// needs before its memory is freed.
  private func isEntered(_ word: UInt) -> Bool {
    guard let address = UnsafeRawPointer(bitPattern: word) else { return false }
    return Unmanaged<RowStorage>.fromOpaque(address)._withUnsafeGuaranteedRef { storage in
      storage.content.pointee.isShared && keys[storage.content.pointee.id.key] == word
    }
  }

  /// The row at an address; `nil` for the word zero, and for a row whose deinitialisation has begun.
  private func retained(_ word: UInt) -> Row? {
    guard let address = UnsafeMutableRawPointer(bitPattern: word), let storage = swift_tryRetain(address) else {
      return nil
    }
    return Row(storage: Unmanaged<RowStorage>.fromOpaque(storage).takeRetainedValue())
  }

  private func word(_ storage: RowStorage) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(storage).toOpaque())
  }
}

extension Row {
  /// Adds rows that a save wrote, each to the table of its space.
  static func enter(_ rows: ArraySlice<Row>) {
    var remaining = rows
    while let id = remaining.first?.id {
      let rowsOfSpace = remaining.prefix { $0.id.hasSameSpace(as: id) }
      id.space.rows.enter(rowsOfSpace)
      remaining = remaining.dropFirst(rowsOfSpace.count)
    }
  }
}

extension RowStorage {
  /// Removes the row, which is marked as shared, from its space's table.
  @usableFromInline func leaveTable() {
    content.pointee.id.unmanagedSpace._withUnsafeGuaranteedRef { $0.rows.remove(self) }
  }
}
