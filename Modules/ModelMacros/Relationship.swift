/// Describes a relationship of an entity. The type decides its kind: `Album?`, `ToMany<Genre>` or
/// `OrderedToMany<Track>`.
///
/// ```swift
/// @Relationship(inverse: \Album.tracks, deleteRule: .cascade) var album: Album?
/// ```
///
/// One of two inverse relationships names the other one; the model finds the inverse of the other side. With key paths
/// on both sides the compiler reports a circular reference. A relationship with itself as its inverse gives the name as
/// a text, and so may the second of two sides.
///
/// - Parameters:
///   - inverse: The inverse relationship at the destination.
///   - deleteRule: The effect of a delete of the object on the destinations.
///   - required: Whether the model refuses to save an object without a target. The Swift type stays optional. For
///     to-one relationships.
///   - minimumCount: The least number of members, checked at save. For to-many relationships.
///   - maximumCount: The greatest number of members, checked at save; `nil` for any number. For to-many relationships.
///   - formerNames: The names that the property had in earlier models, the latest first.
///   - userInfo: Texts of the application by key.
@attached(peer)
public macro Relationship(
  inverse: AnyKeyPath, deleteRule: DeleteRule = .nullify, required: Bool = false, minimumCount: Int = 0,
  maximumCount: Int? = nil, formerNames: [String] = [], userInfo: [String: String] = [:]
) = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "MarkerMacro")

/// Describes a relationship of an entity, whose inverse is named by a text.
///
/// The parameters are those of the macro with a key path. Without the argument `inverse`, the inverse is
/// the relationship that names this one, or else the only one that leads back. With `nil`, the relationship has none.
@attached(peer)
public macro Relationship(
  inverse: String? = nil, deleteRule: DeleteRule = .nullify, required: Bool = false, minimumCount: Int = 0,
  maximumCount: Int? = nil, formerNames: [String] = [], userInfo: [String: String] = [:]
) = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "MarkerMacro")
