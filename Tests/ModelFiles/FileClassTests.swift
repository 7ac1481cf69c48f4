import CoherenceCore
import CoherenceModelFiles
import Testing

@Suite("Model files: classes of entities")
struct FileClassTests {
  enum East { final class Crate: ManagedObject {} }
  enum West { final class Crate: ManagedObject {} }

  private func file(_ className: String) -> ModelFile {
    ModelFile(entities: [ModelFile.Entity("A", className: className)])
  }

  @Test func `a name of two classes is an error that names both, and the name with the enclosing types finds one`()
    throws
  {
    let classes: EntityClasses = [West.Crate.self, East.Crate.self]
    let names = "ModelFilesTests.FileClassTests.East.Crate, ModelFilesTests.FileClassTests.West.Crate"
    #expect { try file("Crate").model(classes: classes) } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("several classes are named: \(names); write the module")
    }
    let model = try file("FileClassTests.West.Crate").model(classes: classes)
    #expect(model.entities[0].objectClass == West.Crate.self)
  }

  @Test(arguments: ["ManagedObject", "NSManagedObject"])
  func `an entity with the base class of the framework or of Core Data needs no class in the list`(name: String) throws
  {
    #expect(try file(name).model(classes: []).entities[0].objectClass == ManagedObject.self)
  }

  @Test func `a subentity without a class has one fault, although its parent has a class`() throws {
    let file = ModelFile(entities: [
      ModelFile.Entity("Release", className: "Release"),
      ModelFile.Entity("Single", className: "Single", parent: "Release"),
    ])
    #expect { try file.model(classes: [Release.self]) } throws: {
      "\($0)".contains("add Single.self") && !"\($0)".contains("does not inherit")
    }
  }

  @Test func `a subentity with a class has no fault of its own if the class of its parent is missing`() throws {
    let file = ModelFile(entities: [
      ModelFile.Entity("Release", className: "Release"),
      ModelFile.Entity("Single", className: "Single", parent: "Release"),
    ])
    #expect { try file.model(classes: [Single.self]) } throws: {
      "\($0)".contains("add Release.self") && !"\($0)".contains("does not inherit")
    }
  }
}
