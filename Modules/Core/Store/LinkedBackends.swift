/// Where a module that brings backends along says which they are, so that who links it finds them by name without a
/// call.
///
/// Core knows no backend: it asks the runtime whether any module of the process made this type conform to
/// ``BackendProvider``.
package enum LinkedBackends {
  /// The types that the process brings along, by name.
  static let storeTypes: [String: StoreType] = {
    let types = (LinkedBackends.self as Any.Type as? any BackendProvider.Type)?.providedTypes ?? []
    return Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }()
}

/// What ``LinkedBackends`` is made to conform to, by one module of a process.
package protocol BackendProvider {
  /// Store types with their factories.
  static var providedTypes: [StoreType] { get }
}
