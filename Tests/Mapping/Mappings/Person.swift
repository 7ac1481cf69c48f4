import CoherenceCore
import CoherenceMapping
import TestSupport

struct Person: Sendable, Hashable, Codable {
  let id: Int
  var name: String
  var age: Int
  var nickname: String?

  static let mapping = Mapping<Person>("Person", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("age", \.age)
    Field("nickname", \.nickname)
  }

  /// A store with four people.
  static func stack(_ backend: Backend) throws -> MappingStack {
    let stack = try MappingStack(backend, model: ManagedObjectModel { mapping })
    let people = [
      Person(id: 1, name: "Ada", age: 36), Person(id: 2, name: "Bea", age: 18),
      Person(id: 3, name: "Cid", age: 7), Person(id: 4, name: "Dan", age: 90, nickname: "D"),
    ]
    try stack.manager.save(mapping, models: people, shouldOverwrite: true)
    return stack
  }
}
