/// Values of one type to release when the lock is free.
@usableFromInline
final class DeferredReleases<Value> {
  /// The last appended value, outside of the array for a quick comparison with the next one.
  @exclusivity(unchecked) @usableFromInline var last: Value
  /// The values before the last, in the order in which they were appended.
  @exclusivity(unchecked) @usableFromInline var earlier: [Value] = []

  @inlinable init(_ value: Value) {
    last = value
  }

  deinit {
    // The last value is released first: containers are appended after their contents, which the list still retains
    // then. In the other order, the release of the outermost container would recurse through all its contents.
    guard let first = earlier.first else { return }
    earlier.append(last)
    // `last` cannot be empty, so it gets the value to release at the very end.
    last = first
    while earlier.popLast() != nil {}
  }

  /// Adds a value, unless it has the bytes of the last one and so retains the same objects, as most copies in
  /// aggregates do.
  @inlinable @inline(__always)
  func append(_ value: Value) {
    if !hasSameBytesAsLast(value) { add(value) }
  }

  @inlinable @inline(never)
  func add(_ value: Value) {
    earlier.append(last)
    last = value
  }

  @inlinable @inline(__always)
  func hasSameBytesAsLast(_ value: Value) -> Bool {
    withUnsafeBytes(of: value) { bytes in
      withUnsafeBytes(of: &last) { lastBytes in
        haveEqualBytes(bytes, lastBytes)
      }
    }
  }
}

extension StoreCore {
  /// Releases a value when the lock is free: its `deinit` can run code of the user.
  @inlinable func releaseLater<Value>(_ value: Value) {
    let type = ObjectIdentifier(Value.self)
    if let last = pending.lastDeferredReleases, last.type == type {
      return Unmanaged<DeferredReleases<Value>>.fromOpaque(last.list)._withUnsafeGuaranteedRef { $0.append(value) }
    }
    deferRelease(DeferredReleases(value), of: type)
  }

  /// Releases an optional value when the lock is free.
  func releaseLater<Value>(_ value: Value?) {
    if let value { releaseLater(value) }
  }

  @usableFromInline func deferRelease(_ list: AnyObject, of type: ObjectIdentifier) {
    pending.lastDeferredReleases = (type, Unmanaged.passUnretained(list).toOpaque())
    pending.release(list)
  }
}
