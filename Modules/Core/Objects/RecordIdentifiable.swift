/// An object with the identity of its record.
///
/// The identity is a member of this protocol and not of ``ManagedObject``, so that a class may have an attribute named
/// `id`: `object.id` is then the attribute, and generic code over `Identifiable` sees the record's identifier still.
public protocol RecordIdentifiable: Identifiable {
  /// The record's identity.
  var objectID: ManagedObjectID { get }
}

extension RecordIdentifiable {
  /// The record's identity, equal to ``objectID``. It changes when a new object gets its permanent identifier, by its
  /// save or before. To be read inside the context.
  public var id: ManagedObjectID { objectID }
}

extension ManagedObject: RecordIdentifiable {}
