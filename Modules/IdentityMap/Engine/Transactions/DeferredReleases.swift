/// Values of one type to release when the lock is free.
@usableFromInline
final class DeferredReleases<Value> {
  @exclusivity(unchecked) @usableFromInline var last: Value
  @exclusivity(unchecked) @usableFromInline var others: [Value] = []

  @inlinable init(_ value: Value) {
    last = value
  }

  deinit {
    // The last value is released first: containers are appended after their contents, and releasing a container first
    // would recurse through all of them.
    guard let first = others.first else { return }
    others.append(last)
    last = first
    while others.popLast() != nil {}
  }

  /// Adds a value, unless it has the bytes of the last one and so retains the same objects, as most copies in
  /// aggregates do.
  @inlinable @inline(__always)
  func append(_ value: Value) {
    if !hasSameBytesAsLast(value) { add(value) }
  }

  @inlinable @inline(never)
  func add(_ value: Value) {
    others.append(last)
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
