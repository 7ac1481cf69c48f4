public import CoherenceCore

/// The types of unique identifiers: `String`, the integers, `UUID`, and other comparable attribute types.
public typealias UniqueIdentifier = AttributeConvertible & Comparable & CustomStringConvertible

/// A model with a unique identifier.
///
/// ```swift
/// struct Person { let personId: String; let name: String }
/// extension Person: CoreModel { var uid: String { personId } }
/// ```
public protocol CoreModel {
  associatedtype UidType: UniqueIdentifier
  /// The identifier, which no other model of the type has.
  var uid: UidType { get }
}
