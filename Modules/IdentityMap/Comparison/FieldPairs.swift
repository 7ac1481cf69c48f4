/// The fields of two values of one type, side by side.
struct FieldPairs {
  private(set) var pairs: [(Any, Any)] = []
  /// Whether the values may have fields beside the pairs, so that the `==` of the type is compared too.
  private(set) var mayHideFields = false

  /// Returns `nil` when the values are known to differ: two objects, sets with other members, dictionaries with other
  /// keys, and values with other numbers or labels of fields.
  init?(_ first: Any, _ second: Any) {
    let (mirror, other) = (Mirror(reflecting: first), Mirror(reflecting: second))
    switch mirror.displayStyle {
    case .class?:
      // The caller has found that the bytes of the references differ, so that the objects are not identical.
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
    case .collection?, .optional?, .tuple?: mayHideFields = false
    default: mayHideFields = pairs.isEmpty || first is any CustomReflectable
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

  /// Equal keys of dictionaries may differ in fields that their `==` leaves out, too.
  private mutating func appendEntries(of first: [AnyHashable: Any], and second: [AnyHashable: Any]) -> Bool {
    guard first.count == second.count else { return false }
    for (key, value) in first {
      guard let index = second.index(forKey: key) else { return false }
      pairs += [(key.base, second[index].key.base), (value, second[index].value)]
    }
    return true
  }
}
