/// The key paths to the nested entities of an aggregate, shared by all values with the same key paths.
final class NestingPlan<T>: AnyNestingPlan {
  private let paths: [PartialIdentifiableKeyPath<T>]
  private let accessors: [NestedAccessor<T>]
  /// The bytes of the value that belong to no key path; `nil` when a key path is not a plain stored property.
  private let ownBytes: [Range<Int>]?

  init(_ paths: [PartialIdentifiableKeyPath<T>]) {
    self.paths = paths
    let accessors = paths.map { $0.makeAccessor() }
    self.accessors = accessors
    ownBytes = NestingPlan<T>.bytes(besides: accessors.map { $0.stored?.bytes })
    if accessors.count == 1 {
      super.init(writeChildren: accessors[0].writeChildrenAtAddress)
    } else {
      super.init { address, cursor in
        for accessor in accessors { accessor.writeChildrenAtAddress(address, &cursor) }
      }
    }
  }

  /// Whether the plan is that of the given key paths.
  func isMade(of paths: [PartialIdentifiableKeyPath<T>]) -> Bool {
    guard paths.count == self.paths.count else { return false }
    for index in paths.indices {
      let (path, own) = (paths[index], self.paths[index])
      guard path.kind == own.kind, path.removal == own.removal,
        path.keyPath === own.keyPath || path.keyPath == own.keyPath
      else { return false }
    }
    return true
  }

  /// Whether a key path may refuse a removal. A key path in a wrapper may have any policy.
  var mayRefuse: Bool { paths.contains { $0.removal == .refuse || $0.kind.isOfWrappers } }

  /// Returns the bytes of a value outside of the given ranges; `nil` when one of the ranges is unknown.
  private static func bytes(besides ranges: [Range<Int>?]) -> [Range<Int>]? {
    let sorted = ranges.compactMap { $0 }.sorted { $0.lowerBound < $1.lowerBound }
    guard sorted.count == ranges.count else { return nil }
    var (own, start): ([Range<Int>], Int) = ([], 0)
    for range in sorted {
      if start < range.lowerBound { own.append(start..<range.lowerBound) }
      start = max(start, range.upperBound)
    }
    if start < MemoryLayout<T>.size { own.append(start..<MemoryLayout<T>.size) }
    return own
  }

  /// Whether two values are known to be identical: by their own bytes, and by those of the nested entities, which may
  /// be in other buffers.
  func isRepetition(_ value: T, of former: T) -> Bool {
    guard let ownBytes else { return false }
    return withUnsafeBytes(of: value) { value in
      withUnsafeBytes(of: former) { former in
        guard let start = value.baseAddress, let formerStart = former.baseAddress else { return true }
        return ownBytes.allSatisfy { bytes in
          haveEqualBytes(
            UnsafeRawBufferPointer(rebasing: value[bytes]), UnsafeRawBufferPointer(rebasing: former[bytes]))
        } && accessors.allSatisfy { $0.stored?.isRepetition(start, formerStart) ?? false }
      }
    }
  }

  /// Passes each nested entity of a value to a collector.
  func collect(_ value: T, into collector: inout ChildCollector) {
    StackSpace.forLevel { for accessor in accessors { accessor.collect(value, &collector) } }
  }

  /// Writes the changed values of the children into a value.
  func writeChildren(_ value: inout T, along cursor: inout LinkCursor) {
    for accessor in accessors { accessor.writeChildren(&value, &cursor) }
  }

  /// Removes the cursor's removed entity from a value.
  /// - Returns: Whether the value requires the entity.
  func remove(from value: inout T, along cursor: inout LinkCursor) -> Bool {
    for accessor in accessors where accessor.remove(&value, &cursor) { return true }
    return false
  }
}
