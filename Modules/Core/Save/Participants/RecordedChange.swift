/// The change that a save makes to one record, for a ``SaveParticipant``. Consists of values, not of objects.
public struct RecordedChange: Sendable {
  /// The kind of a change.
  public enum Kind: Sendable, Hashable { case inserted, updated, deleted }

  /// The permanent identifier of the record.
  public let id: ManagedObjectID
  /// The record's own entity, never an ancestor of it.
  public let entity: EntityDescription
  /// The kind of the change. A deleted record that a merge policy restores is inserted.
  public let kind: Kind
  /// The record before the change, as the store has it; `nil` for an insert.
  public let base: Row?
  /// The record after the change; `nil` for a delete. Equal to ``base`` when nothing but members changes.
  public let row: Row?
  /// The slots of attributes and to-one relationships whose values differ from those of ``base``: all of them for an
  /// insert, none for a delete. Positions in ordered lists of other records are left out.
  public let changedSlots: SlotSet
  /// The to-many relationships whose members or order change, by name. Empty for a delete.
  ///
  /// An inverse that follows a change of this record, such as the members of a to-one relationship's target, is a
  /// change of the other record.
  public let members: [RecordedMembers]

  /// The attributes and to-one relationships of ``changedSlots``, then the relationships of ``members``. Each call
  /// makes an array.
  public var changedProperties: [PropertyDescription] {
    changedSlots.compactMap { slot -> PropertyDescription? in
      switch entity.slots[slot] {
      case .attribute(let attribute): attribute
      case .reference(let relationship): relationship
      case .position: nil
      }
    } + members.map(\.relationship)
  }

  /// - Parameter comparesValues: Whether slots with equal values before and after the change are left out.
  init(_ change: RecordChange, _ permanentIDs: PermanentIDs, comparesValues: Bool) {
    id = change.id
    entity = change.entity
    switch change.kind {
    case .inserted:
      (kind, base, row) = (.inserted, nil, change.row)
      changedSlots = change.entity.checked.values
    case .updated:
      (kind, base, row) = (.updated, change.base, change.row)
      changedSlots = change.changedValues(comparing: comparesValues)
    case .deleted:
      (kind, base, row) = (.deleted, change.base, nil)
      changedSlots = SlotSet()
    }
    members = kind == .deleted ? [] : change.changedMembers(permanentIDs)
  }
}

extension RecordChange {
  /// The slots of attributes and to-one relationships that an update changes.
  ///
  /// - Parameter comparing: Whether slots with their former values are left out.
  fileprivate func changedValues(comparing: Bool) -> SlotSet {
    guard comparing || entity.checked.hasPositions else { return changed }
    let values = entity.checked.values
    return SlotSet(changed.filter { slot in values.contains(slot) && (!comparing || base?[slot] != row?[slot]) })
  }

  fileprivate func changedMembers(_ permanentIDs: PermanentIDs) -> [RecordedMembers] {
    guard hasMembers else { return [] }
    return members.compactMap { RecordedMembers($0.key, $0.value, permanentIDs) }
      .sorted { $0.relationship.name < $1.relationship.name }
  }

  /// Whether participants receive the change. An update of nothing but positions in lists of other records is left out.
  func isRecorded(comparing: Bool) -> Bool {
    guard kind == .updated else { return true }
    if hasMembers, members.contains(where: { !$0.value.isEmpty }) { return true }
    return !changedValues(comparing: comparing).isEmpty
  }
}
