/// A reference to a record of any store, as the value of an attribute.
///
/// A relationship stays within one store, which checks its references. A weak reference may lead into any store of the
/// coordinator. It consists of the record's ``StoredObjectID``: it has no inverse, no delete rule clears it, no store
/// checks it, and it remains while the other store is detached.
///
/// ```swift
/// final class Order: ManagedObject {
///   static let customerKey = AttributeKey<WeakReference<Customer>?>("customer")
///   var customer: WeakReference<Customer>? {
///     get { self[Self.customerKey] }
///     set { self[Self.customerKey] = newValue }
///   }
/// }
/// order.customer = try WeakReference(to: customer)
/// let customer = order.referencedObject(for: Order.customerKey)
/// ```
/// The macro `@Entity` makes an attribute of a variable `var customer: WeakReference<Customer>?`. Conditions compare
/// references by identity: `order.customer == reference`. An attribute is stored as the text of the identifier.
///
/// A reference is a value: it may be used on any thread and assigned in any context.
public struct WeakReference<Target: ManagedObject>: Sendable, Hashable {
  /// The identity of the record; `nil` for a reference to no record, which a typed accessor of a required attribute
  /// returns in place of a missing value.
  public let id: StoredObjectID?

  /// Makes a reference to a record by its identity. The record need not exist, and its store need not be attached.
  public init(_ id: StoredObjectID) { self.id = id }

  private init(none: Void) { id = nil }

  /// Makes a reference to an object's record. To be called inside the object's context.
  ///
  /// An inserted object without a permanent identifier gets one, which costs a reservation of keys; the object is not
  /// saved. The reference dangles until the object is saved, and stays so if the object's record becomes a stored record
  /// in another save than that of the reference, see ``MergePolicy``.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for an object without a context; ``ErrorCode/objectDeleted``; as
  ///   ``ManagedObjectContext/obtainPermanentIDs(for:)``.
  public init(to object: Target) throws { self.init(try object.permanentStoredID()) }
}

extension WeakReference: AttributeConvertible {
  /// A weak reference to the entity of the class, if the class names one.
  public static var attributeType: AttributeType {
    .weakReference(to: (Target.self as? any DeclaredEntity.Type)?.entityName)
  }
  /// A reference to no record.
  public static var attributeDefault: WeakReference { WeakReference(none: ()) }
  /// The text of the identity; null for a reference to no record.
  public var attributeValue: AttributeValue { id.map { .string($0.description) } ?? .null }
  /// Makes a reference from the text of an identity; `nil` for null and for any other text.
  public init?(attributeValue: AttributeValue) {
    guard case .string(let text) = attributeValue, let id = StoredObjectID(text) else { return nil }
    self.init(id)
  }
}

/// Coded as the text of the identity; null for a reference to no record.
extension WeakReference: Codable {
  /// Decodes the text of an identity, or null. Does not look the record up.
  ///
  /// - Throws: ``ErrorCode/invalidIdentifier`` for another text; errors of the decoder for another type.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    id = container.decodeNil() ? nil : try container.decode(StoredObjectID.self)
  }

  /// Encodes the text of the identity, or null for a reference to no record.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let id { try container.encode(id) } else { try container.encodeNil() }
  }
}
