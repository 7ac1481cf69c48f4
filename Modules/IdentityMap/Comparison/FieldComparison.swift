/// Whether two values are the same in every field, whatever the `==` of their type compares.
///
/// The bytes decide first: an untouched copy has those of its original. Where they differ, the fields are compared,
/// because an equal text or array may lie elsewhere, and gaps between fields may hold anything. That takes
/// microseconds, and is done for the entities that an update changes.
///
/// - Parameter differences: Of a walk over values that are nested deep: pairs that it has compared.
func areSame<T>(_ first: T, _ second: T, _ differences: KnownDifferences? = nil) -> Bool {
  haveSameBytes(first, second) || haveSameFields(first, second, differences)
}

/// Whether two values have the very same bytes, and so are the same.
@inlinable @inline(__always)
func haveSameBytes<T>(_ first: T, _ second: T) -> Bool {
  withUnsafeBytes(of: first) { first in
    withUnsafeBytes(of: second) { second in areSameBytes(first, second) }
  }
}

/// Compares bytes word by word. Both buffers are of one length.
@inlinable @inline(__always)
func areSameBytes(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
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

/// Compares values field by field. Values can be deep, so there is a list of what is left in place of recursion.
///
/// A value without fields is compared by its `==`. One that describes itself by a mirror of its own may hide fields, so
/// its `==` and its mirror both have to find the values the same. Two values that cannot be compared differ.
func haveSameFields(_ first: Any, _ second: Any, _ differences: KnownDifferences? = nil) -> Bool {
  var left = [FieldPair(first, second, depth: 0)]
  // The pairs that the one that is compared is in.
  var path: [FieldPair] = []
  while let pair = left.popLast() {
    if differences != nil {
      path.removeSubrange(pair.depth...)
      path.append(pair)
    }
    guard let fields = pair.fieldsToCompare(differences) else {
      differences?.note(path)
      return false
    }
    left += fields.map { FieldPair($0.0, $0.1, depth: pair.depth + 1) }
  }
  return true
}

/// Two values that are compared, or fields of theirs.
struct FieldPair {
  let first: Any
  let second: Any
  /// How many fields lead to it.
  let depth: Int

  init(_ first: Any, _ second: Any, depth: Int) {
    (self.first, self.second, self.depth) = (first, second, depth)
  }

  /// The fields that decide; `nil` when the values differ.
  fileprivate func fieldsToCompare(_ differences: KnownDifferences?) -> [(Any, Any)]? {
    guard type(of: first) == type(of: second) else { return nil }
    if haveSameBytes(ofOneType: first, second) { return [] }
    if differences?.contains(self) ?? false { return nil }
    guard let fields = FieldPairs(first, second) else { return nil }
    if fields.mayBeHidden {
      if let first = first as? any Equatable {
        guard isEqual(first, second) else { return nil }
      } else if fields.pairs.isEmpty {
        return nil
      }
    }
    return fields.pairs
  }
}

/// Pairs of entities that differ, as a walk over values that are nested deep has found out.
///
/// The walk compares each entity on its way, and a difference at the bottom is one of every entity above it. Without a
/// note of that, the way down would be gone once for each level.
final class KnownDifferences {
  /// Fewer fields are compared anew: that takes less than a note.
  private static let leastDepth = 64

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let bytes: [UInt8]

    init(_ pair: FieldPair) {
      func bytes<T>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
      type = ObjectIdentifier(Swift.type(of: pair.first))
      self.bytes = _openExistential(pair.first, do: bytes) + _openExistential(pair.second, do: bytes)
    }
  }

  /// With the values, so that other values cannot come to lie in their memory.
  private var pairs: [Key: FieldPair] = [:]

  /// The values differ in a pair of fields, and so do all that these are in.
  func note(_ path: [FieldPair]) {
    guard path.count > Self.leastDepth else { return }
    for pair in path where pair.first is any Identifiable { pairs[Key(pair)] = pair }
  }

  fileprivate func contains(_ pair: FieldPair) -> Bool {
    !pairs.isEmpty && pair.first is any Identifiable && pairs[Key(pair)] != nil
  }
}

/// The fields of two values of one type, side by side.
private struct FieldPairs {
  private(set) var pairs: [(Any, Any)] = []
  /// Whether there may be fields beside these, so that the `==` of the type is asked too.
  private(set) var mayBeHidden = false

  /// `nil` when the values differ already.
  init?(_ first: Any, _ second: Any) {
    let (mirror, other) = (Mirror(reflecting: first), Mirror(reflecting: second))
    switch mirror.displayStyle {
    case .class?:
      // Other bytes are another object.
      return nil
    case .set?:
      guard let first = first as? Set<AnyHashable>, let second = second as? Set<AnyHashable> else { break }
      guard appendMembers(of: first, and: second) else { return nil }
      return
    case .dictionary?:
      guard let first = first as? [AnyHashable: Any], let second = second as? [AnyHashable: Any] else { break }
      guard appendEntries(of: first, and: second) else { return nil }
      return
    default:
      break
    }
    guard mirror.children.count == other.children.count else { return nil }
    for (child, otherChild) in zip(mirror.children, other.children) {
      guard child.label == otherChild.label else { return nil }
      pairs.append((child.value, otherChild.value))
    }
    switch mirror.displayStyle {
    case .collection?, .optional?, .tuple?: mayBeHidden = false
    default: mayBeHidden = pairs.isEmpty || first is any CustomReflectable
    }
  }

  /// Equal members of sets may differ in fields that their `==` leaves out.
  private mutating func appendMembers(of first: Set<AnyHashable>, and second: Set<AnyHashable>) -> Bool {
    guard first.count == second.count else { return false }
    for member in first {
      guard let index = second.firstIndex(of: member) else { return false }
      pairs.append((member.base, second[index].base))
    }
    return true
  }

  private mutating func appendEntries(of first: [AnyHashable: Any], and second: [AnyHashable: Any]) -> Bool {
    guard first.count == second.count else { return false }
    for (key, value) in first {
      guard let index = second.index(forKey: key) else { return false }
      pairs += [(key.base, second[index].key.base), (value, second[index].value)]
    }
    return true
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
