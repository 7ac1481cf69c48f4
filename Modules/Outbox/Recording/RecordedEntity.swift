import CoherenceCore
import Foundation

/// The properties of a forwarded entity that its entries record, determined once for each model.
final class RecordedEntity: Sendable {
  /// A property with a slot.
  struct Field: Sendable {
    let name: String
    let slot: Int
    let isServerAssigned: Bool
  }

  /// A property with a slot, for the recording of many changes. The range instead of the name avoids reference counting
  /// at each copy.
  struct EncodedField: Sendable {
    let slot: Int
    /// The range of the name in ``encodedNames``.
    let name: Range<Int>
    /// Whether the type of the property admits values of any size.
    let mayBeLarge: Bool
    let isServerAssigned: Bool
  }

  /// The attributes and to-one relationships.
  let fields: [Field]
  /// The attributes and to-one relationships, as ``fields``.
  let encodedFields: [EncodedField]
  /// The encoded names of ``encodedFields``, one after the other.
  let encodedNames: Data
  /// The attributes that identify a record.
  let identity: [Field]
  /// Whether some of ``fields`` are relationships.
  let hasReferences: Bool
  /// The to-many relationships whose links the entries of other records describe: by a to-one relationship, or by the
  /// other side of a many-to-many relationship.
  private let representedElsewhere: Set<RelationshipDescription>

  /// - Parameter names: The names of the forwarded entities.
  init(_ entity: EntityDescription, forwarding names: Set<String>) {
    var fields: [Field] = []
    var encoded: [EncodedField] = []
    var encodedNames = EntryWriter()
    for slot in entity.slots.indices {
      let isServerAssigned: Bool
      switch entity.slots[slot] {
      case .attribute(let attribute): isServerAssigned = attribute.isServerAssigned
      case .reference(let relationship): isServerAssigned = relationship.isServerAssigned
      // The position of a member is no value of its own: a reordering is recorded as a change of the ordered
      // relationship.
      case .position: continue
      }
      fields.append(Field(name: entity.slots[slot].name, slot: slot, isServerAssigned: isServerAssigned))
      let start = encodedNames.count
      encodedNames.write(text: entity.slots[slot].name)
      encoded.append(
        EncodedField(
          slot: slot, name: start..<encodedNames.count, mayBeLarge: entity.slots[slot].admitsLargeValues,
          isServerAssigned: isServerAssigned))
    }
    self.fields = fields
    encodedFields = encoded
    self.encodedNames = encodedNames.data
    hasReferences = entity.slots.contains { if case .reference = $0 { true } else { false } }
    identity = entity.identifyingAttributes.map {
      Field(name: $0.name, slot: $0.slot, isServerAssigned: $0.isServerAssigned)
    }
    representedElsewhere = Set(
      entity.relationships.filter { relationship in
        relationship.isToMany && relationship.inverse != nil
          && relationship.destination.concreteEntities.allSatisfy { names.contains($0.name) }
      })
  }

  /// Whether a change of members belongs into the entry of its record.
  func recordsMembers(_ change: RecordedMembers) -> Bool {
    guard !change.relationship.isServerAssigned else { return false }
    return change.isOwner || change.isReordered || !representedElsewhere.contains(change.relationship)
  }
}

extension Slot {
  /// Whether the values may be larger than ``EntryFormat/largestInlineValue``.
  fileprivate var admitsLargeValues: Bool {
    guard case .attribute(let attribute) = self else { return false }
    return switch attribute.type {
    case .int16, .int32, .int64, .bool, .float, .double, .decimal, .date, .uuid: false
    default: true
    }
  }
}

extension EntityDescription {
  /// The attributes that identify a record for a server: the entity's key, or else its shortest uniqueness constraint
  /// over attributes, the first one among equally short ones.
  var identifyingAttributes: [AttributeDescription] {
    if let key = keyAttributes { return key }
    let constraints = uniquenessConstraints.compactMap { constraint -> [AttributeDescription]? in
      let attributes = constraint.compactMap { $0 as? AttributeDescription }
      return attributes.count == constraint.count ? attributes : nil
    }
    return constraints.min { $0.count < $1.count } ?? []
  }

  /// The highest entity of the hierarchy among whose records the values of ``identifyingAttributes`` are unique. A
  /// record of another entity beside it may have the same values.
  var identifyingScope: EntityDescription {
    let key: [PropertyDescription] = identifyingAttributes
    var scope = self
    while let parent = scope.superentity,
      parent.uniquenessConstraints.contains(where: { constraint in constraint.allSatisfy(key.contains) })
    {
      scope = parent
    }
    return scope
  }
}
