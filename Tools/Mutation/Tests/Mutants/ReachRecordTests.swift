import Testing

@testable import Mutants

@Suite("The tests that reach a mutant")
struct ReachRecordTests {
  private let record = ReachRecord(
    lines: """
      3 CoreTests.Fetching/sorts()/Fetching.swift:4:6
      3 CoreTests.Fetching/`a limit, and a range`()/Fetching.swift:9:6
      7 CoreTests.free()/Free.swift:1:2
      7 -
      x CoreTests.free()/Free.swift:1:2
      8
      """)

  @Test func `a record has each test without its file, and the hits of no test apart`() {
    #expect(record.tests[3] == ["CoreTests.Fetching/sorts()", "CoreTests.Fetching/`a limit, and a range`()"])
    #expect(record.tests[7] == ["CoreTests.free()"])
    #expect(record.background == [7])
    #expect(record.tests[8] == nil)
    #expect(record.testCount == 3)
  }

  @Test func `a test has the number of mutants that it reaches`() {
    #expect(record.mutantCounts["CoreTests.Fetching/sorts()"] == 1)
    #expect(ReachRecord(lines: "3 A.b()/B.swift:1:2\n4 A.b()/B.swift:1:2").mutantCounts == ["A.b()": 2])
  }

  @Test func `a summary of passed tests has their duration`() {
    let passed = "✔ Test run with 237 tests in 52 suites passed after 213.829 seconds."
    let failed = "✘ Test run with 2 tests failed after 1.5 seconds with 1 issue."
    #expect(TestProgram.seconds(inSummary: Substring(passed)) == 213.829)
    #expect(TestProgram.seconds(inSummary: Substring(failed)) == nil)
  }

  @Test func `the filter of single tests matches these tests and no others`() throws {
    let selection = TestSelection(tests: ["CoreTests.Fetching/sorts()", "MapTests.free()"])
    let filter = try Regex(selection.filter)
    #expect("CoreTests.Fetching/sorts()/Fetching.swift:4:6".contains(filter))
    #expect("MapTests.free()/Free.swift:1:2".contains(filter))
    #expect(!"CoreTests.Fetching/sortsAll()/Fetching.swift:4:6".contains(filter))
    #expect(!"MapTests.freely()/Free.swift:1:2".contains(filter))
    #expect(!"OtherCoreTests.Fetching/sorts()/Fetching.swift:4:6".contains(filter))
    #expect(selection.name == "CoreTests, MapTests")
  }

  @Test func `suites stand for more tests than fit into an argument`() throws {
    let tests = Set((1...5_000).map { "CoreTests.Fetching/sortsByAttribute\($0)()" })
    let selection = TestSelection(tests: tests)
    #expect(selection.filter == #"^(CoreTests\.Fetching)(/|$)"#)
  }
}
