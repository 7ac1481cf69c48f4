import CoherenceCore

/// The class of the test models' users.
final class ContainerUser: ManagedObject {
  static let firstNameKey = AttributeKey<String?>("firstName")
  static let lastNameKey = AttributeKey<String?>("lastName")
  static let userNameKey = AttributeKey<String>("userName")

  var firstName: String? {
    get { self[Self.firstNameKey] }
    set { self[Self.firstNameKey] = newValue }
  }
  var lastName: String? {
    get { self[Self.lastNameKey] }
    set { self[Self.lastNameKey] = newValue }
  }
  var userName: String {
    get { self[Self.userNameKey] }
    set { self[Self.userNameKey] = newValue }
  }

  /// Makes a user with all values.
  static func insert(named name: String, into context: ManagedObjectContext) throws -> ContainerUser {
    let user = try ContainerUser(context: context)
    user.firstName = "First \(name)"
    user.lastName = "Last \(name)"
    user.userName = name
    return user
  }
}
