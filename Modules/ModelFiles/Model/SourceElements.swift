/// The elements of XML behind a list or dictionary of the model, such as the entries of a user info, with attributes and
/// elements that the value does not represent. As long as the value is unchanged, the elements are written as they were
/// read, so that a file of a newer editor loses nothing.
struct SourceElements<Value: Sendable & Hashable>: Sendable, Hashable {
  /// The value as it was read.
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
