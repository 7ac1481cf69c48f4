/// Whether two values are the same in every field, whatever the `==` of their type compares.
///
/// The bytes decide first: an untouched copy has those of its original. Where they differ, the fields are compared, because
/// an equal text or array may lie elsewhere, and gaps between fields may hold anything. That takes microseconds, and is done
/// for the entities that an update changes.
func areSame<T>(_ first: T, _ second: T) -> Bool {
  haveSameBytes(first, second) || haveSameFields(first, second)
}

private func haveSameBytes<T>(_ first: T, _ second: T) -> Bool {
  withUnsafeBytes(of: first) { first in
    withUnsafeBytes(of: second) { second in first.elementsEqual(second) }
  }
}

/// Compares values field by field. Values can be deep, so there is a list of what is left in place of recursion.
///
/// A value without fields, and one that hides them behind a mirror of its own, is compared by its `==`; two values that
/// cannot be compared differ.
private func haveSameFields(_ first: Any, _ second: Any) -> Bool {
  var left = [(first, second)]
  while let (first, second) = left.popLast() {
    guard type(of: first) == type(of: second) else { return false }
    let (mirror, other) = (Mirror(reflecting: first), Mirror(reflecting: second))
    if mirror.displayStyle == .class {
      guard first as AnyObject === second as AnyObject else { return false }
    } else if let style = mirror.displayStyle, style != .set, style != .dictionary, style != .enum,
      !mirror.children.isEmpty || !other.children.isEmpty
    {
      guard mirror.children.count == other.children.count else { return false }
      for (child, otherChild) in zip(mirror.children, other.children) {
        guard child.label == otherChild.label else { return false }
        left.append((child.value, otherChild.value))
      }
    } else {
      guard let first = first as? any Equatable, isEqual(first, second) else { return false }
    }
  }
  return true
}

private func isEqual<E: Equatable>(_ first: E, _ second: Any) -> Bool {
  (second as? E).map { first == $0 } ?? false
}
