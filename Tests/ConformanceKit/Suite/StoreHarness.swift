public import CoherenceCore
public import Foundation

/// The access of the suite to a backend.
public protocol StoreHarness: Sendable {
  /// The backend's name, for messages.
  var name: String { get }
  /// Returns a new, empty location for a store. Some cases call the function several times; every location is destroyed
  /// at the end.
  func makeLocation() throws -> any StoreLocation
  /// Returns a new, empty location for a store of another kind, for the cases about several stores. By default a
  /// location of the same kind.
  func makeCompanionLocation() throws -> any StoreLocation
  /// The names of the cases that the store fails, each with the reason.
  var skips: [String: String] { get }
}

extension StoreHarness {
  public func makeCompanionLocation() throws -> any StoreLocation { try makeLocation() }
  public var skips: [String: String] { [:] }
}

/// A location at which a test can open a store, close it, and open it again with its records.
public protocol StoreLocation: AnyObject, Sendable {
  /// The type, with its factory.
  var type: StoreType { get }
  /// The argument for the parameter `at:` of `PersistentStoreCoordinator.addPersistentStore(type:…)`.
  var url: URL? { get }
  var options: [String: OptionValue] { get }
  /// Called before a store is opened at the location. A store without a lasting medium, such as a store in memory, can
  /// use the call to stay open.
  func willOpen(_ environment: StoreEnvironment) throws
  /// Removes the location and its content. Called when no store is open at the location.
  func destroy() throws
}

extension StoreLocation {
  public var url: URL? { nil }
  public var options: [String: OptionValue] { [:] }
  public func willOpen(_ environment: StoreEnvironment) throws {}
}
