import CoherenceCore

/// The models of the tests of containers.
enum ContainerModels {
  /// Users only.
  static let users = model("ContainerTestModel1", [user])
  /// Users and roles.
  static let usersAndRoles = model("ContainerTestModel2", [user, role])
  /// Users and roles, in two configurations.
  static let configured = model(
    "ContainerTestModel3", [user, role],
    configurations: ["PersistentEntities": ["ContainerUser"], "TransientEntities": ["ContainerRole"]])
  static let empty = model("ContainerTestModel4", [])

  private static let user = Entity("ContainerUser", class: ContainerUser.self) {
    Attribute("firstName", .string, optional: true)
    Attribute("lastName", .string, optional: true)
    Attribute("userName", .string)
  }

  private static let role = Entity("ContainerRole") {
    Attribute("descriptions", .string, optional: true)
    Attribute("name", .string)
  }

  /// Makes a separate model with users, like another program.
  static func makeUsers(name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(name: name, entities: [user])
  }

  private static func model(
    _ name: String, _ entities: [Entity], configurations: [String: [String]] = [:]
  ) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(name: name, entities: entities, configurations: configurations)
    } catch {
      preconditionFailure("The test model '\(name)' is not sound: \(error)")
    }
  }
}
