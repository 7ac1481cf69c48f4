import CoherenceCore
import CoherenceMapping
import TestSupport
import Testing

/// Models by as many uids as one query takes, and by more: in several queries among many records, in one pass over few.
@Suite("Numbers of uids")
struct KeyNumberTests {
  @Test(arguments: Backend.available)
  func `any number of models is fetched, saved and deleted by uid beside any number of other records`(
    backend: Backend
  ) throws {
    for (count, recordCount) in [(499, 2_100), (500, 2_100), (501, 2_004), (501, 2_005), (1_001, 4_100)] {
      let people = Person.mapping
      let stack = try MappingStack(backend, model: ManagedObjectModel { people })
      var all = (0..<recordCount).map { Person(id: $0, name: "Person \($0)", age: $0 % 100) }
      try stack.manager.save(people, models: all, shouldOverwrite: true)
      // The last uid has no record.
      let ids = (0..<(count - 1)).map { $0 * 4 } + [100_000]
      let known = ids.dropLast()
      let fetched = try stack.manager.fetchModels(people, uids: ids)
      #expect(fetched.sorted { $0.id < $1.id } == known.map { all[$0] }, "\(count) of \(recordCount)")
      for id in [known.first, known.last].compactMap({ $0 }) { all[id].nickname = "changed" }
      let models = known.map { all[$0] } + [Person(id: 100_000, name: "New", age: 1)]
      let result = try stack.manager.save(people, models: models, shouldOverwrite: false)
      #expect(result.inserted == 1 && result.updated == 2 && result.unchanged == count - 3 && result.deleted == 0)
      #expect(try stack.manager.fetchModels(people) == all + models.suffix(1))
      #expect(try stack.manager.delete(people, uids: ids) == count)
      let others = Set(0..<recordCount).subtracting(known)
      #expect(try stack.manager.fetchModels(people) == all.filter { others.contains($0.id) })
    }
  }
}
