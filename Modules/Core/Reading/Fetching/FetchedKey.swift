/// Names a fetched property for a typed accessor: a fetched property of the model, or a request made from the object.
///
/// ```swift
/// @Entity final class Album: ManagedObject {
///   var title = ""
///   var year = 0
///
///   static let olderKey = FetchedKey<Album, Album> { album in
///     FetchRequest(Album.self).filter { $0.year < album.year }.sort(\.year)
///   }
///   var older: [Album] { self[Self.olderKey] }
/// }
/// ```
/// A key may be shared between threads.
public final class FetchedKey<Source: ManagedObject, Target: ManagedObject>: Sendable {
  /// The source of the request.
  enum Rule: Sendable {
    /// The fetched property of the model with a name.
    case declared(String)
    /// A closure of the key.
    case request(@Sendable (Source) throws -> FetchRequest<Target>)
  }

  let rule: Rule

  /// Names a ``FetchedProperty`` of the model.
  public init(_ name: String) { rule = .declared(name) }

  /// Makes a key with a request of its own.
  ///
  /// - Parameter request: Makes the request from the object. Called in the context, each time the property is fetched.
  public init(_ request: @escaping @Sendable (Source) throws -> FetchRequest<Target>) { rule = .request(request) }
}
