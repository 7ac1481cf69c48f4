/// Whether two values are identical in every field, whichever fields the `==` of their type compares.
///
/// Bytes are compared first: an unchanged copy has the bytes of its original. Where they differ, the fields are
/// compared by reflection, because equal texts or arrays may have different buffers, and padding may have any content.
/// Reflection takes microseconds, and is used for the entities in an update.
///
/// - Parameter differences: The pairs that the current walk over nested values has found to differ.
func areIdentical<T>(_ first: T, _ second: T, _ differences: KnownDifferences? = nil) -> Bool {
  haveSameBytes(first, second) || haveSameFields(first, second, differences)
}

/// Whether two values have the same bytes, and so are identical.
@inlinable @inline(__always)
func haveSameBytes<T>(_ first: T, _ second: T) -> Bool {
  withUnsafeBytes(of: first) { first in
    withUnsafeBytes(of: second) { second in haveEqualBytes(first, second) }
  }
}

/// Compares bytes word by word. Both buffers are of one length.
@inlinable @inline(__always)
func haveEqualBytes(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
  var offset = 0
  while offset &+ 8 <= first.count {
    let (word, other) = (
      first.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
      second.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    )
    if word != other { return false }
    offset &+= 8
  }
  while offset < first.count {
    if first[offset] != second[offset] { return false }
    offset &+= 1
  }
  return true
}

/// Compares values field by field, iteratively, because values can be nested too deeply for recursion.
///
/// A value without fields is compared by its `==`. A value with a custom mirror may hide fields, so its `==`, if it has
/// one, and its mirror have to find the values identical. Values without fields and without `==` differ, and so do two
/// objects, whatever their `==` returns.
func haveSameFields(_ first: Any, _ second: Any, _ differences: KnownDifferences? = nil) -> Bool {
  // A stack of the pairs to compare.
  var pending = [FieldPair(first, second, depth: 0)]
  // The pairs that contain the current pair, and at the end the pair itself.
  var path: [FieldPair] = []
  while let pair = pending.popLast() {
    if differences != nil {
      path.removeSubrange(pair.depth...)
      path.append(pair)
    }
    guard let fields = pair.fieldsToCompare(differences) else {
      differences?.note(path)
      return false
    }
    pending += fields.map { FieldPair($0.0, $0.1, depth: pair.depth + 1) }
  }
  return true
}

/// Two values to compare, or two values of one field in them.
struct FieldPair {
  let first: Any
  let second: Any
  /// The number of fields that lead to the pair.
  let depth: Int

  init(_ first: Any, _ second: Any, depth: Int) {
    (self.first, self.second, self.depth) = (first, second, depth)
  }

  /// The fields on whose comparison the result depends; `nil` when the values are known to differ.
  fileprivate func fieldsToCompare(_ differences: KnownDifferences?) -> [(Any, Any)]? {
    guard type(of: first) == type(of: second) else { return nil }
    if haveSameBytes(ofOneType: first, second) { return [] }
    if differences?.contains(self) ?? false { return nil }
    guard let fields = FieldPairs(first, second) else { return nil }
    if fields.mayHideFields {
      if let first = first as? any Equatable {
        guard isEqual(first, second) else { return nil }
      } else if fields.pairs.isEmpty {
        return nil
      }
    }
    return fields.pairs
  }
}

private func haveSameBytes(ofOneType first: Any, _ second: Any) -> Bool {
  func compare<T>(_ first: T) -> Bool {
    guard let second = second as? T else { return false }
    return haveSameBytes(first, second)
  }
  return _openExistential(first, do: compare)
}

private func isEqual<E: Equatable>(_ first: E, _ second: Any) -> Bool {
  (second as? E).map { first == $0 } ?? false
}
