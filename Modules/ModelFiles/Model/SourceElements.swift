/// Elements with attributes or elements beyond the list or dictionary that represents them, such as the entries of a
/// user info. They are written as they were read, as long as the value is the one that was read.
struct SourceElements<Value: Sendable & Hashable>: Sendable, Hashable {
  let value: Value
  let elements: [ModelFile.Markup]

  /// Makes the elements of a value; `nil` if the value represents all their attributes and elements.
  init?(_ elements: [ModelFile.Markup], value: Value) {
    guard elements.contains(where: \.hasUnread) else { return nil }
    self.value = value
    self.elements = elements
  }
}

extension ModelFile.Markup {
  /// The attributes and elements that a value represents, by the name of the element.
  private static let read: [String: (attributes: Set<String>, elements: Set<String>)] = [
    "userInfo": ([], ["entry"]), "entry": (["key", "value"], []),
    "uniquenessConstraints": ([], ["uniquenessConstraint"]), "uniquenessConstraint": ([], ["constraint"]),
    "constraint": (["value"], []), "memberEntity": (["name"], []),
  ]

  /// The attributes that no value represents, by name.
  var unreadAttributes: [String: String] {
    let names = Self.read[name]?.attributes ?? []
    return attributes.filter { !names.contains($0.key) }
  }

  /// The elements that a value represents.
  var readElements: [ModelFile.Markup] {
    let names = Self.read[name]?.elements ?? []
    return children.filter { names.contains($0.name) }
  }

  /// The elements that no value represents.
  var unreadElements: [ModelFile.Markup] {
    let names = Self.read[name]?.elements ?? []
    return children.filter { !names.contains($0.name) }
  }

  /// Whether an attribute or an element at any depth is represented by no value.
  fileprivate var hasUnread: Bool {
    !unreadAttributes.isEmpty || !unreadElements.isEmpty || readElements.contains(where: \.hasUnread)
  }
}
