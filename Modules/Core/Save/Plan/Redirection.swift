/// The records to which references lead instead of other records, after inserted records have become other records.
struct Redirection {
  private let targets: [ManagedObjectID: ManagedObjectID]
  /// The texts of weak references to the records, by the texts to replace.
  private let texts: [AttributeValue: AttributeValue]

  /// - Parameters:
  ///   - targets: The records to refer to, by the records to replace.
  ///   - model: The model of the store.
  init(_ targets: [ManagedObjectID: ManagedObjectID], in model: ManagedObjectModel) {
    self.targets = targets
    var texts: [AttributeValue: AttributeValue] = [:]
    if !targets.isEmpty, model.entities.contains(where: { !$0.checked.weakReferences.isEmpty }) {
      for (former, target) in targets {
        // Nothing refers weakly to a record without a permanent identifier.
        guard let text = try? StoredObjectID(former), let other = try? StoredObjectID(target) else { continue }
        texts[.string(text.description)] = .string(other.description)
      }
    }
    self.texts = texts
  }

  /// The value that replaces a reference or a weak reference; `nil` for a value that stays.
  func value(instead value: AttributeValue) -> AttributeValue? {
    if case .reference(let id) = value { targets[id].map(AttributeValue.reference) } else { texts[value] }
  }
}
