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

  /// The attributes and to-one relationships, without those that ``EntityDescription/recordsValues(of:)`` leaves out.
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
      case .attribute(let attribute):
        guard entity.recordsValues(of: attribute) else { continue }
        isServerAssigned = attribute.isServerAssigned
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
    return change.isReordered || recordsLinks(of: change.relationship, isOwner: change.isOwner)
  }

  /// Whether the entries of a to-many relationship's record describe the links.
  ///
  /// - Parameter isOwner: See ``OutboxMembers/isOwner``.
  func recordsLinks(of relationship: RelationshipDescription, isOwner: Bool) -> Bool {
    !relationship.isServerAssigned && (isOwner || !representedElsewhere.contains(relationship))
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
