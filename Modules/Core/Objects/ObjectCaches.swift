/// The values that an object keeps beside its row: lists of members, decoded values, and results of fetched properties.
/// Dropped when the row changes. A separate object, because most objects have no such values.
final class ObjectCaches {
  /// The lists of members by relationship; `nil` for none.
  var lists: [RelationshipDescription: MemberList]?
  /// The last decoded values of `codable` attributes, by slot.
  var decoded: [Int: AnyDecodedValue] = [:]
  /// The results of fetched properties, by the name of the property, or by the identity of its key.
  var fetched: [AnyHashable: KeptResult] = [:]
}

/// The kept result of a fetched property.
struct KeptResult {
  /// The key of the property; `nil` for a property with a name, and for a released key. Another key may get the address
  /// of a released key, and its objects may be of another class.
  private(set) weak var key: AnyObject?
  let ids: [ManagedObjectID]
}

/// A decoded value of any type.
class AnyDecodedValue {
  /// The stored text from which the value was decoded.
  final let text: String

  init(text: String) { self.text = text }
}

/// A decoded value.
final class DecodedValue<Value>: AnyDecodedValue {
  let value: Value

  init(text: String, value: Value) {
    self.value = value
    super.init(text: text)
  }
}

extension ManagedObject {
  /// The loaded lists of members by relationship; `nil` for none. Assigning `nil` drops the other caches of the object
  /// too. A change of a single list leaves them, also when there are no lists.
  final var collections: [RelationshipDescription: MemberList]? {
    get { caches?.lists }
    set {
      guard let newValue else { return caches = nil }
      if caches == nil { caches = ObjectCaches() }
      caches?.lists = newValue
    }
    _modify {
      // The dictionary leaves the cache during the change, so that it is not copied.
      var lists = caches?.lists
      caches?.lists = nil
      defer {
        if lists != nil {
          if caches == nil { caches = ObjectCaches() }
          caches?.lists = lists
        }
      }
      yield &lists
    }
  }

  /// The decoded value of a text of a `codable` attribute: the last decoded value as long as the text stays the same.
  final func decodedValue<Value: Decodable>(_ text: String, at slot: Int) throws -> Value {
    if let last = caches?.decoded[slot] as? DecodedValue<Value>, last.text.hasSameBytes(as: text) {
      return last.value
    }
    let value = try JSONText.decode(Value.self, from: .string(text))
    if caches == nil { caches = ObjectCaches() }
    caches?.decoded[slot] = DecodedValue(text: text, value: value)
    return value
  }
}
